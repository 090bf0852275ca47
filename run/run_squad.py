"""Fine-tunes BERT on SQuAD 1.1 or 2.0, or files in their form, and answers questions.

  python -m run.run_squad --train_file=train-v1.1.json --predict_file=dev-v1.1.json --vocab_file=vocab.txt \\
      --bert_config_file=bert_config.json --init_checkpoint=bert_model.ckpt --output_dir=squad --do_train --do_predict

  python -m run.run_squad --version_2_with_negative --use_best_threshold --train_file=train-v2.0.json ...
"""

import dataclasses
import logging
import os
import random
import sys

from absl import flags

from bert_tf.cli import paths, script
from bert_tf.errors import InputError
from run.finetuning import job, task_metadata
from run.settings import flags as driver_flags

FLAGS = flags.FLAGS

TRAIN_RECORDS = "train.tf_record"
SHUFFLE_SEED = 12345  # the original's, for the order in which questions become records
SHUFFLE_RECORDS = 10_000  # held to draw from: about 15 MB at length 384


def define_flags():
    """Defines this script's flags; the original's keep their names, defaults and meanings."""
    job.define_flags(max_seq_length=384)
    flags.DEFINE_string("train_file", None, "SQuAD JSON to train on, such as train-v1.1.json. Needed to train.")
    flags.DEFINE_string(
        "predict_file", None, "SQuAD JSON to evaluate on and to answer, such as dev-v1.1.json or test-v1.1.json. "
                              "Needed to evaluate and to predict.")
    flags.DEFINE_integer("doc_stride", 128, "Pieces between the starts of two windows of a long context.",
                         lower_bound=1)
    flags.DEFINE_integer(
        "max_query_length", 64, "Longest question in pieces; longer ones are cut. Less than --max_seq_length - 3.",
        lower_bound=1)
    flags.DEFINE_integer(
        "n_best_size", 20, "Starts and ends to try in each window, and answers a question in "
                           "nbest_predictions.json.", lower_bound=1)
    flags.DEFINE_integer("max_answer_length", 30, "Longest answer in pieces.", lower_bound=1)
    flags.DEFINE_bool(
        "version_2_with_negative", False, "Whether some questions have no answer, as in SQuAD 2.0.")
    flags.DEFINE_float(
        "null_score_diff_threshold", 0.0, "With --version_2_with_negative: a question has no answer if the score of "
                                          "none exceeds that of the best answer by more than this.")
    flags.DEFINE_bool(
        "use_best_threshold", False, "Use the threshold with the best F1 on --predict_file instead of "
                                     "--null_score_diff_threshold; right for development data only.")
    flags.DEFINE_enum(
        "answer_metric", "squad", ["squad", "korquad"], "squad: the official evaluation; korquad: KorQuAD's, whose "
                                                        "F1 counts characters.")
    flags.DEFINE_bool("verbose_logging", False, "Say of every answer that could not be found in its context again.")


def main(argv):
    """Checks the flags, then trains, evaluates and predicts."""
    del argv
    values = FLAGS.flag_values_dict()
    settings = job.Settings.of_flags(values)
    check_flags(values)
    config = driver_flags.read_config(FLAGS.bert_config_file, FLAGS.max_seq_length)
    from data_prep.tasks import squad

    if FLAGS.verbose_logging:
        logging.getLogger(squad.__name__).setLevel(logging.INFO)
    squad.check_lengths(FLAGS.max_seq_length, FLAGS.doc_stride, FLAGS.max_query_length)
    if FLAGS.doc_stride > FLAGS.max_seq_length - FLAGS.max_query_length - 3:
        note(f"--doc_stride={FLAGS.doc_stride}", "windows after long questions are shorter and do not overlap: answers "
                                                 "across their ends cannot be found")
    train_examples = read(FLAGS.train_file, True, FLAGS.version_2_with_negative) if settings.do_train else []
    eval_examples = (read(FLAGS.predict_file, False, FLAGS.version_2_with_negative)
                     if settings.do_eval or settings.do_predict else [])
    has_scores = eval_examples and can_score(eval_examples, values)
    num_train_steps = settings.num_train_steps(len(train_examples)) if settings.do_train else 1
    strategy, tokenizer = job.prepare(values, settings, config)
    folder = job.results_dir(settings, strategy)

    job.keep_model_files(settings, strategy, config, FLAGS.vocab_file, task_metadata.Task(
        "span_labeler", FLAGS.max_seq_length, FLAGS.do_lower_case, doc_stride=FLAGS.doc_stride,
        max_query_length=FLAGS.max_query_length), {"train_file": [FLAGS.train_file]})
    ignore_padding = job.may_group_by_length(settings, strategy)
    reader = Reader(eval_examples, values, tokenizer, ignore_padding)
    if settings.do_predict:  # this goes once through what is evaluated too
        settings = dataclasses.replace(settings, eval_batch_size=settings.predict_batch_size)
    data = training_data(train_examples, values, tokenizer, folder, ignore_padding) if settings.do_train else None
    tuned = job.run(
        settings, strategy, config, task_model(reader, ignore_padding), training_data=data,
        num_train_steps=num_train_steps, eval_features=reader.arrays if has_scores else None)
    if settings.do_predict:
        reader.write(tuned.eval_outputs or tuned.predictor(reader.arrays, settings.predict_batch_size),
                     folder)


def check_flags(values):
    """Raises InputError for flags, a dict of values, that do not go together."""
    if values["do_train"]:
        paths.check_file("train_file", values["train_file"])
    if values["do_eval"] or values["do_predict"]:
        paths.check_file("predict_file", values["predict_file"])
    if values["use_best_threshold"] and not values["version_2_with_negative"]:
        raise InputError("--use_best_threshold: only SQuAD 2.0 has one; give --version_2_with_negative too")
    if values["answer_metric"] == "korquad" and values["version_2_with_negative"]:
        raise InputError("--answer_metric=korquad: KorQuAD has no questions without answer; leave "
                         "--version_2_with_negative out")


def read(path, is_training, version_2_with_negative):
    """The Examples of a file; says what is odd about them on standard error."""
    from data_prep.tasks import squad

    examples = squad.read_examples(path, is_training, version_2_with_negative)
    if examples.num_not_found:
        note(path, f"{examples.num_not_found:,} questions are left out: their answer does not stand in the context "
                   "where answer_start says")
    if examples.num_empty:
        note(path, f"{examples.num_empty:,} questions are empty, or about an empty context")
    return examples


def note(source, text):
    """Says something about a file or flag on standard error."""
    print(f"{source}: {text}", file=sys.stderr)


def can_score(examples, values):
    """Whether the examples have answers to compare with; InputError if these are asked for and missing."""
    from run.evaluation import squad_scores

    try:
        squad_scores.check_answers(examples, values["version_2_with_negative"])
    except ValueError as error:
        if values["do_eval"] or values["use_best_threshold"]:
            raise InputError(f"--predict_file={values['predict_file']}: {error}") from error
        note(values["predict_file"], f"not evaluated: {error}")
        return False
    return True


def training_data(examples, values, tokenizer, folder, group_by_length):
    """Writes the windows of training examples to a file in `folder`; returns (seed, first step) -> batches of them."""
    from data_prep.tasks import squad

    path = os.path.join(folder, TRAIN_RECORDS)
    random.Random(SHUFFLE_SEED).shuffle(examples)
    windows = squad.convert_examples_to_features(
        examples, tokenizer, values["max_seq_length"], values["doc_stride"], values["max_query_length"], True)
    num_records = squad.write_records(path, windows, values["max_seq_length"], is_training=True)
    if not num_records:
        raise InputError(f"--train_file={values['train_file']}: no context has a word")
    note_windows(values["train_file"], examples, windows, values["max_query_length"])
    return lambda seed, first_step: training_batches(
        path, squad.record_features(values["max_seq_length"], is_training=True), num_records,
        values["train_batch_size"], seed, first_step, group_by_length)


def note_windows(path, examples, windows, max_query_length):
    """Says what became of the questions of a file; `windows`: the FeatureStream that has been made of them."""
    cut = windows.num_long_questions
    note(path, f"{len(examples):,} questions, {windows.num_features:,} windows"
               + (f"; {cut:,} questions are cut to --max_query_length={max_query_length} pieces" if cut else ""))


def training_batches(path, features, num_records, batch_size, seed, first_step, group_by_length):
    """Batches of the records of a file, endlessly, every record once before any comes again.

    Args:
      path: TFRecord file, read as training goes on.
      features: its records.Features.
      num_records: how many it has.
      batch_size: windows in a batch, B, over all replicas.
      seed: int, fixes the order.
      first_step: number of the first batch.
      group_by_length: whether to put windows of similar length together, and to cut a batch to its longest.

    Returns:
      Dataset of dicts of name -> int32 [B, S], or [B, 1] for features of one number.
    """
    import tensorflow as tf

    from data_prep import records
    from run.finetuning.batches import SORTED_BATCHES

    together = max(1, min(SORTED_BATCHES, num_records // batch_size)) if group_by_length else 1

    def batches(number, serialized):
        arrays = records.parse(serialized, features)
        rows = tf.range(together * batch_size)
        if group_by_length:
            rows = tf.argsort(tf.reduce_sum(arrays["input_mask"], axis=1), stable=True)
        order = tf.random.experimental.stateless_shuffle(tf.range(together), seed=[seed, number])
        rows = tf.gather(tf.reshape(rows, [together, batch_size]), order)
        return tf.data.Dataset.from_tensor_slices({name: tf.gather(array, rows) for name, array in arrays.items()})

    def without_common_padding(batch):
        longest = tf.reduce_max(tf.reduce_sum(batch["input_mask"], axis=1))
        return {name: array if array.shape[1] == 1 else array[:, :longest] for name, array in batch.items()}

    first, skip = divmod(first_step, together)
    data = tf.data.TFRecordDataset(path).shuffle(SHUFFLE_RECORDS, seed=seed).repeat()
    data = data.skip(first * together * batch_size).batch(together * batch_size, drop_remainder=True)
    data = data.enumerate(first).flat_map(batches).skip(skip)
    return (data.map(without_common_padding) if group_by_length else data).prefetch(tf.data.AUTOTUNE)


class Reader:
    """Answers the questions of a file from the model's scores.

    Args:
      examples: list of Example; none if nothing is to be answered.
      values: dict of flag values.
      tokenizer: BertTokenizer.
      ignore_padding: whether the scores of padding mean nothing, padding having been left out.

    Attributes:
      arrays: dict of int32 [windows, S], what the model takes.
    """

    def __init__(self, examples, values, tokenizer, ignore_padding):
        self._examples, self._values, self._ignore_padding = examples, values, ignore_padding
        self._features, self.arrays = [], {}
        if examples:
            from data_prep.tasks import squad

            windows = squad.convert_examples_to_features(
                examples, tokenizer, values["max_seq_length"], values["doc_stride"], values["max_query_length"], False)
            self._features = list(windows)
            note_windows(values["predict_file"], examples, windows, values["max_query_length"])
            if not self._features:
                raise InputError(f"--predict_file={values['predict_file']}: no context has a word")
            arrays = squad.arrays_of(self._features)
            self.arrays = {name: arrays[name] for name in ("input_ids", "input_mask", "segment_ids")}

    def score(self, outputs):
        """Scores the model's outputs, dict of float32 [windows, S]: dict of eval_NAME -> float."""
        from run.evaluation import squad_scores

        answers = self._answers(outputs)
        threshold = self._threshold(answers)
        scores = squad_scores.score(self._examples, answers, threshold, self._values["answer_metric"])
        if self._values["version_2_with_negative"]:
            scores["null_score_diff_threshold"] = threshold
        return {f"eval_{name}": float(value) for name, value in scores.items()}

    def write(self, outputs, output_dir):
        """Writes the prediction files of the model's outputs."""
        from data_prep.tasks import squad

        answers = self._answers(outputs)
        squad.write_answers(answers, output_dir, self._threshold(answers))

    def _threshold(self, answers):
        """The null odds above which a question has no answer."""
        if not self._values["use_best_threshold"]:
            return self._values["null_score_diff_threshold"]
        from run.evaluation import squad_scores

        return squad_scores.best_thresholds(self._examples, answers)["best_f1_thresh"]

    def _answers(self, outputs):
        from bert_tf import losses
        from data_prep.tasks import squad

        penalty = losses.PADDING_PENALTY * (1 - self.arrays["input_mask"]) if self._ignore_padding else 0
        return squad.predict_answers(
            self._examples, self._features, outputs["start_logits"] + penalty, outputs["end_logits"] + penalty,
            self._values["n_best_size"], self._values["max_answer_length"], self._values["do_lower_case"],
            self._values["version_2_with_negative"])


def task_model(reader, ignore_padding):
    """The finetuning.TaskModel of answer spans; `reader`: the Reader that scores."""
    from bert_tf import losses, models

    return job.TaskModel(
        make=models.BertSpanLabeler,
        loss=lambda outputs, features: {"loss": losses.span_loss(outputs, features, ignore_padding)},
        score=reader.score, metric="eval_f1", per_position=True)


if __name__ == "__main__":
    script.run(main, define_flags)
