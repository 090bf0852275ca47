"""Answers that are spans of a context (sections 4.2 and 4.3 of the paper: SQuAD 1.1 and 2.0; KorQuAD)."""

import logging
import os
import random

import tensorflow as tf

from bert_tf import losses
from bert_tf.cli.script import warn
from bert_tf.errors import InputError
from bert_tf.model_folder.task_metadata import TaskMetadata
from bert_tf.tasks.graphs import GRAPHS
from data_prep import records
from data_prep.tasks import squad
from run.evaluation import squad_scores
from run.finetuning.batches import SORTED_BATCHES
from run.finetuning.task import FineTuningTask
from run.finetuning.task_settings import QuestionAnsweringSettings

TRAIN_RECORDS = "train.tf_record"
SHUFFLE_SEED = 12345  # the original's, for the order in which questions become records
SHUFFLE_RECORDS = 10_000  # held to draw from: about 15 MB at length 384


class QuestionAnswering(FineTuningTask):
    """The task of QuestionAnsweringSettings; one file is evaluated and answered."""

    kind = QuestionAnsweringSettings.kind
    metric = "eval_f1"
    evaluates_predictions = True

    def __init__(self, settings, kept):
        super().__init__(settings, kept)
        task, splits = settings.task, settings.tuning.splits
        if task.verbose_logging:
            logging.getLogger(squad.__name__).setLevel(logging.INFO)
        self._max_seq_length = settings.tokenizer.max_seq_length
        squad.check_lengths(self._max_seq_length, task.doc_stride, task.max_query_length)
        if task.doc_stride > self._max_seq_length - task.max_query_length - 3:
            _note(f"`doc_stride`={task.doc_stride}", "windows after long questions are shorter and do not overlap: "
                                                     "answers across their ends cannot be found")
        self._train_examples = read_examples(task.train_file, True, task.version_2_with_negative) if (
            "train" in splits) else []
        if self._train_examples:
            num_examples = len(self._train_examples)
            # Windows take long to make: first see that there are any steps.
            settings.fitting(num_examples).num_train_steps(num_examples)
        self._examples = read_examples(task.predict_file, False, task.version_2_with_negative) if (
            {"dev", "test"} & {*splits}) else []
        self._has_answers = bool(self._examples) and self._can_score("dev" in splits or task.use_best_threshold)

    def read(self, tokenizer, ignore_padding):
        self._tokenizer, self._ignore_padding = tokenizer, ignore_padding
        if self._examples:
            self._windows = list(self._convert(self._examples, self.settings.task.predict_file, "predict_file"))
            arrays = squad.arrays_of(self._windows)
            self.features["dev"] = {name: arrays[name] for name in ("input_ids", "input_mask", "segment_ids")}

    def write_training_data(self, folder):
        """Writes the windows of the training examples to a file, from which training reads them."""
        self._train_records = os.path.join(folder, TRAIN_RECORDS)
        random.Random(SHUFFLE_SEED).shuffle(self._train_examples)
        windows = self._convert(self._train_examples, self.settings.task.train_file, "train_file")
        self._num_records = squad.write_records(
            self._train_records, windows, self._max_seq_length, is_training=True)

    def _convert(self, examples, path, setting):
        """Yields the windows of examples; says at the end how many there were. InputError if there are none."""
        task = self.settings.task
        windows = squad.convert_examples_to_features(
            examples, self._tokenizer, self._max_seq_length, task.doc_stride, task.max_query_length,
            setting == "train_file")
        yield from windows
        if not windows.num_features:
            raise InputError(f"`{setting}`={path}: no context has a word")
        cut = windows.num_long_questions
        _note(path, f"{len(examples):,} questions, {windows.num_features:,} windows"
                    + (f"; {cut:,} questions are cut to --max_query_length={task.max_query_length} pieces" if cut
                       else ""))

    @property
    def metadata(self):
        return TaskMetadata(
            self.kind, self._max_seq_length, self.settings.tokenizer.do_lower_case,
            doc_stride=self.settings.task.doc_stride, max_query_length=self.settings.task.max_query_length,
            strip_accents=self.settings.tokenizer.strip_accents)

    @property
    def training_files(self):
        return {"train_file": [self.settings.task.train_file]}

    @property
    def num_train_examples(self):
        """Questions, by which the original counts an epoch."""
        return len(self._train_examples)

    def training_batches(self, seed, first_step, share, static_shapes):
        return training_batches(
            self._train_records, squad.record_features(self._max_seq_length, is_training=True), self._num_records,
            self.settings.training.train_batch_size, seed, first_step, share, group_by_length=not static_shapes)

    @property
    def eval_features(self):
        return self.features["dev"] if self._has_answers else None

    @property
    def loss(self):
        return GRAPHS[self.kind].loss(self.metadata, self._ignore_padding)

    def score(self, outputs):
        answers = self._answers(outputs)
        threshold = self._threshold(answers)
        scores = squad_scores.score(self._examples, answers, threshold, self.settings.task.answer_metric)
        if self.settings.task.version_2_with_negative:
            scores["null_score_diff_threshold"] = threshold
        return {f"eval_{name}": float(value) for name, value in scores.items()}

    def decisions(self, outputs):
        """Of each question its answer."""
        answers = self._answers(outputs)
        return list(answers.choose(self._threshold(answers)).values())

    def report(self, outputs, folder):
        """Nothing beside the scores."""

    def predict(self, predictor, eval_outputs, folder):
        """Writes predictions.json, nbest_predictions.json and, for SQuAD 2.0, null_odds.json."""
        outputs = eval_outputs or predictor(self.features["dev"], self.settings.tuning.predict_batch_size)
        answers = self._answers(outputs)
        squad.write_answers(answers, folder, self._threshold(answers))

    def _threshold(self, answers):
        """The null odds above which a question has no answer."""
        if not self.settings.task.use_best_threshold:
            return self.settings.task.null_score_diff_threshold
        return squad_scores.best_thresholds(self._examples, answers)["best_f1_thresh"]

    def _answers(self, outputs):
        """The squad.Answers of outputs, dict of float32 [windows, S]."""
        task = self.settings.task
        mask = self.features["dev"]["input_mask"]
        penalty = losses.PADDING_PENALTY * (1 - mask) if self._ignore_padding else 0
        return squad.predict_answers(
            self._examples, self._windows, outputs["start_logits"] + penalty, outputs["end_logits"] + penalty,
            task.n_best_size, task.max_answer_length, self.settings.tokenizer.do_lower_case,
            task.version_2_with_negative, self.settings.tokenizer.strip_accents)

    def _can_score(self, is_needed):
        """Whether the examples have answers to compare with; InputError if these are needed and missing."""
        task = self.settings.task
        try:
            squad_scores.check_answers(self._examples, task.version_2_with_negative)
        except InputError as error:
            if is_needed:
                raise InputError(f"`predict_file`={task.predict_file}: {error}") from error
            _note(task.predict_file, f"not evaluated: {error}")
            return False
        return True


def read_examples(path, is_training, version_2_with_negative):
    """The Examples of a file; says what is odd about them on standard error."""
    examples = squad.read_examples(path, is_training, version_2_with_negative)
    if examples.num_not_found:
        _note(path, f"{examples.num_not_found:,} questions are left out: their answer does not stand in the context "
                    "where answer_start says")
    if examples.num_empty:
        _note(path, f"{examples.num_empty:,} questions are empty, or about an empty context")
    return examples


def _note(source, text):
    """Says something about a file on standard error."""
    warn(f"{source}: {text}")


def training_batches(path, features, num_records, batch_size, seed, first_step, share, group_by_length):
    """Batches of the records of a file, endlessly, every record once before any comes again.

    Args:
      path: TFRecord file, read as training goes on.
      features: its records.Features.
      num_records: how many it has.
      batch_size: windows in a batch, B, over all replicas.
      seed: int, fixes the order.
      first_step: number of the first batch.
      share: HostShare, which rows of each batch to give; of the others the length alone is parsed, if anything.
      group_by_length: whether to put windows of similar length together, and to cut a batch to its longest.

    Returns:
      Dataset of dicts of name -> int32 [rows, S], or [rows, 1] for features of one number.
    """
    together = max(1, min(SORTED_BATCHES, num_records // batch_size)) if group_by_length else 1

    def batches(number, serialized):
        """Dataset of (features, longest example) of the `together` batches of part `number`, the host's rows alone."""
        rows = tf.range(together * batch_size)
        if group_by_length:
            masks = records.parse(serialized, [feature for feature in features if feature.name == "input_mask"])
            lengths = tf.reduce_sum(masks["input_mask"], axis=1)
            rows = tf.argsort(lengths, stable=True)
        order = tf.random.experimental.stateless_shuffle(tf.range(together), seed=[seed, number])
        rows = tf.gather(tf.reshape(rows, [together, batch_size]), order)
        own = rows[:, share.rows(batch_size)]
        arrays = records.parse(tf.gather(serialized, tf.reshape(own, [-1])), features)
        arrays = {name: tf.reshape(array, [*own.shape, array.shape[1]]) for name, array in arrays.items()}
        longest = tf.reduce_max(tf.gather(lengths, rows), axis=1) if group_by_length else tf.zeros([together], tf.int32)
        return tf.data.Dataset.from_tensor_slices((arrays, longest))

    def without_common_padding(batch, longest):
        if not group_by_length:
            return batch
        return {name: array if array.shape[1] == 1 else array[:, :longest] for name, array in batch.items()}

    first, skip = divmod(first_step, together)
    data = tf.data.TFRecordDataset(path).shuffle(SHUFFLE_RECORDS, seed=seed).repeat()
    data = data.skip(first * together * batch_size).batch(together * batch_size, drop_remainder=True)
    data = data.enumerate(first).flat_map(batches).skip(skip)
    return data.map(without_common_padding).prefetch(tf.data.AUTOTUNE)
