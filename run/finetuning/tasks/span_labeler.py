"""Question answering with spans of a context (sections 4.2 and 4.3 of the paper: SQuAD 1.1 and 2.0.

KorQuAD).
"""

import dataclasses
import os

import numpy as np
import tensorflow as tf

from bert_tf import losses
from bert_tf.cli.script import warn
from bert_tf.errors import InputError
from bert_tf.layers import MASKED_SCORE
from bert_tf.tokenization import BertTokenizer
from data_prep import records
from data_prep.tasks import squad
from data_prep.tasks.span_labeler import SpanLabelerData
from run.finetuning.metrics import squad_scores
from run.finetuning.tasks.base import Task
from run.training.batches import NUM_SORTED_BATCHES
from run.training.padding import Padding

TRAIN_RECORDS = "train.tf_record"
RECORDS_AT_A_TIME = 1024
SHUFFLE_RECORDS = 10_000  # Size of the shuffle buffer: about 15 MB at length 384.


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class SpanLabelerTask(Task):
    """See Task. The same file is used for evaluation and prediction."""

    data_class = SpanLabelerData
    kind = SpanLabelerData.settings_class.kind
    metric = "eval_f1"
    logits_loss = "spans"
    evaluates_predictions = True

    tokenizer: BertTokenizer | None = None
    padding: Padding = Padding.STATIC
    windows: tuple = ()  # squad.WindowFeatures of each row of the development data.
    has_answers: bool = False  # Whether the development data can be scored.
    # Of the file of training examples, once it is written; shared by all runs.
    num_records: list = dataclasses.field(default_factory=list)

    @classmethod
    def open(cls, settings, model_metadata=None):
        """See Task."""
        task = super().open(settings, model_metadata)
        is_needed = "dev" in settings.splits or settings.task_settings.use_best_threshold
        has_answers = bool(task._examples) and task._can_score(is_needed)
        return dataclasses.replace(task, has_answers=has_answers)

    def read(self, tokenizer, padding):
        """See Task."""
        windows = self.data.create_windows("dev", tokenizer) if self._examples else ()
        features = {"dev": self.data.create_arrays(windows)} if windows else {}
        return dataclasses.replace(
            self,
            tokenizer=tokenizer,
            padding=padding,
            windows=tuple(windows),
            features=features | self._read_unlabeled(tokenizer),
        )

    @property
    def _examples(self):
        """The questions to evaluate or predict."""
        return self.data.examples("dev") if {"dev", "test"} & {*self.settings.splits} else []

    def write_training_data(self):
        """Writes the windows of the training examples to a file, from which all runs read them."""
        # Otherwise, texts without labels.
        if "train" not in self.features and not self.num_records:
            self.num_records.append(self.data.write_records(self._train_records, self.tokenizer))

    @property
    def _train_records(self):
        return os.path.join(self.folder, TRAIN_RECORDS)

    @property
    def num_train_examples(self):
        """Number of questions, the original BERT's unit of an epoch.

        Or of windows of texts without labels.
        """
        return (
            super().num_train_examples
            if "train" in self.features
            else len(self.data.examples("train"))
        )

    def read_training_rows(self):
        """See Task. Reads the file from `write_training_data`."""
        if "train" in self.features:
            return super().read_training_rows()
        features = squad.record_features(self.settings.tokenizer.max_seq_length, is_training=True)
        parts = [
            {name: value.numpy() for name, value in records.parse(serialized, features).items()}
            for serialized in tf.data.TFRecordDataset(self._train_records).batch(RECORDS_AT_A_TIME)
        ]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def training_batches(self, seed, first_step, share, padding):
        """See Task."""
        if "train" in self.features:
            return super().training_batches(seed, first_step, share, padding)
        features = squad.record_features(self.settings.tokenizer.max_seq_length, is_training=True)
        return record_batches(
            self._train_records,
            features,
            self.num_records[0],
            self.settings.training.train_batch_size,
            seed,
            first_step=first_step,
            share=share,
            padding=padding,
        )

    @property
    def eval_features(self):
        """See Task."""
        return self.features["dev"] if self.has_answers else None

    @property
    def loss(self):
        """See Task."""
        return losses.create_span_loss(self.padding is Padding.REMOVED)

    def score(self, outputs):
        """See Task."""
        answers = self._predict_answers(outputs)
        threshold = self._find_threshold(answers)
        scores = squad_scores.score_answers(
            self._examples, answers, threshold, self.settings.task_settings.answer_metric
        )
        if self.settings.task_settings.version_2_with_negative:
            scores["null_score_diff_threshold"] = threshold
        return {f"eval_{name}": float(value) for name, value in scores.items()}

    def decisions(self, outputs):
        """Returns the answer to each question."""
        answers = self._predict_answers(outputs)
        return list(answers.choose(self._find_threshold(answers)).values())

    def predict(self, predictor, eval_outputs, folder):
        """Writes predictions.json, nbest_predictions.json, and, for SQuAD 2.0, null_odds.json."""
        outputs = eval_outputs or predictor(
            self.features["dev"], self.settings.tuning.predict_batch_size
        )
        answers = self._predict_answers(outputs)
        squad.write_answers(answers, folder, self._find_threshold(answers))

    def average(self, outputs):
        """See Task.

        A question's probabilities of starts, and of ends, are over the positions of all of its
        windows. The answers of several equal models are therefore the answers of one of them.
        """
        _, firsts, counts = np.unique(
            [window.example_index for window in self.windows],
            return_index=True,
            return_counts=True,
        )
        averaged = {}
        penalty = self._padding_penalty
        for name in ("start_logits", "end_logits"):
            # [models, windows, S].
            logits = np.stack([each[name] + penalty for each in outputs]).astype(np.float64)
            totals = np.logaddexp.reduceat(np.logaddexp.reduce(logits, axis=2), firsts, axis=1)
            logits -= np.repeat(totals, counts, axis=1)[:, :, np.newaxis]
            averaged[name] = (np.logaddexp.reduce(logits) - np.log(len(outputs))).astype(np.float32)
        return averaged

    @property
    def _padding_penalty(self):
        """Number to add to the scores of padding, [windows, S], or 0 if the model computes them."""
        if self.padding is not Padding.REMOVED:
            return 0
        return MASKED_SCORE * (1 - self.features["dev"]["input_mask"])

    def _find_threshold(self, answers):
        """Returns the null odds above which a question has no answer."""
        if not self.settings.task_settings.use_best_threshold:
            return self.settings.task_settings.null_score_diff_threshold
        return squad_scores.best_thresholds(self._examples, answers)["best_f1_thresh"]

    def _predict_answers(self, outputs):
        """Computes the squad.Answers from outputs, dict of float32 [windows, S]."""
        task_settings = self.settings.task_settings
        penalty = self._padding_penalty
        return squad.predict_answers(
            self._examples,
            self.windows,
            outputs["start_logits"] + penalty,
            outputs["end_logits"] + penalty,
            n_best_size=task_settings.n_best_size,
            max_answer_length=task_settings.max_answer_length,
            do_lower_case=self.settings.tokenizer.do_lower_case,
            version_2_with_negative=task_settings.version_2_with_negative,
            strip_accents=self.settings.tokenizer.strip_accents,
        )

    def _can_score(self, is_needed):
        """Returns whether the examples have reference answers.

        Raises InputError if they are required and missing.
        """
        task_settings = self.settings.task_settings
        try:
            squad_scores.check_answers(self._examples, task_settings.version_2_with_negative)
        except InputError as error:
            if is_needed:
                raise InputError(str(error), "predict_file", task_settings.predict_file) from error
            warn(f"{task_settings.predict_file}: not evaluated: {error}")
            return False
        return True


def record_batches(path, features, num_records, batch_size, seed, *, first_step, share, padding):
    """Creates endless batches of the records of a file.

    Every record is used once before any is repeated.

    Args:
      path: Path of the TFRecord file, which is read during training.
      features: Its records.Features.
      num_records: int. Number of its records.
      batch_size: int. Windows per batch, B, over all replicas.
      seed: int. Seed of the order.
      first_step: int. Number of the first batch.
      share: HostShare. Rows of each batch to return. At most the length is parsed of other rows.
      padding: Padding. Unless it is static, batches have windows of similar length and are as long
        as the longest.

    Returns:
      Dataset of dicts of name to int32 [rows, S], or [rows, 1] for scalar features.
    """
    lengths_vary = padding is not Padding.STATIC
    num_batches = max(1, min(NUM_SORTED_BATCHES, num_records // batch_size)) if lengths_vary else 1

    def batches(number, serialized):
        """Creates a dataset of (host's features, longest example) of each batch of a part."""
        rows = tf.range(num_batches * batch_size)
        if lengths_vary:
            lengths = _count_tokens(serialized, features)
            rows = tf.argsort(lengths, stable=True)
        order = tf.random.experimental.stateless_shuffle(tf.range(num_batches), seed=[seed, number])
        rows = tf.gather(tf.reshape(rows, [num_batches, batch_size]), order)
        host_rows = rows[:, share.rows(batch_size)]
        arrays = records.parse(tf.gather(serialized, tf.reshape(host_rows, [-1])), features)
        arrays = {
            name: tf.reshape(array, [*host_rows.shape, array.shape[1]])
            for name, array in arrays.items()
        }
        longest = (
            tf.reduce_max(tf.gather(lengths, rows), axis=1)
            if lengths_vary
            else tf.zeros([num_batches], tf.int32)
        )
        return tf.data.Dataset.from_tensor_slices((arrays, longest))

    def truncate(batch, length):
        return _truncate_padding(batch, length) if lengths_vary else batch

    first, skip = divmod(first_step, num_batches)
    data = tf.data.TFRecordDataset(path).shuffle(SHUFFLE_RECORDS, seed=seed).repeat()
    data = data.skip(first * num_batches * batch_size).batch(
        num_batches * batch_size, drop_remainder=True
    )
    data = data.enumerate(first).flat_map(batches).skip(skip)
    return data.map(truncate).prefetch(tf.data.AUTOTUNE)


def _count_tokens(serialized, features):
    """Returns the number of non-padding tokens of each serialized record, int32 [n]."""
    masks = records.parse(
        serialized, [feature for feature in features if feature.name == "input_mask"]
    )
    return tf.reduce_sum(masks["input_mask"], axis=1)


def _truncate_padding(batch, length):
    """Truncates the arrays of a batch to its longest example, except for scalar features."""
    return {
        name: array if array.shape[1] == 1 else array[:, :length] for name, array in batch.items()
    }
