"""Fine-tunes BERT on sentences or sentence pairs: GLUE, XNLI, or TSV and CSV files of one's own.

  python -m run.run_classifier --task_name=MRPC --data_dir=MRPC --vocab_file=vocab.txt \\
      --bert_config_file=bert_config.json --init_checkpoint=bert_model.ckpt --output_dir=mrpc --do_train --do_eval

  python -m run.run_classifier --task_name=own --text_a_column=sentence --label_column=label --data_dir=FOLDER ...
"""

import os
import sys

from absl import flags

from bert_tf.cli import script
from bert_tf.errors import InputError
from run.evaluation import glue_submission
from run.finetuning import job, task_metadata
from run.settings import flags as driver_flags

FLAGS = flags.FLAGS


def define_flags():
    """Defines this script's flags; the original's keep their names, defaults and meanings."""
    job.define_flags()
    flags.DEFINE_string("data_dir", None, "Folder of the task's files (train.tsv, dev.tsv, ...; of one's own "
                                            "tasks train.csv too, where there is no train.tsv). Needed.")
    flags.DEFINE_string(
        "task_name", None, "cola, sst-2, mrpc, sts-b, qqp, mnli, mnli-mm, qnli, rte, wnli or xnli, whose files are "
                           "read as published; or own, for files with a header. Needed.")
    flags.DEFINE_string("text_a_column", "text", "With --task_name=own: the column of the text.")
    flags.DEFINE_string("text_b_column", None, "With --task_name=own: the column of the second text, if any.")
    flags.DEFINE_string("label_column", "label", "With --task_name=own: the column of the label or number.")
    flags.DEFINE_bool("regression", False, "With --task_name=own: whether the label is a number.")
    flags.DEFINE_string(
        "label_separator", None, "With --task_name=own: what stands between labels where a row may have several.")
    flags.DEFINE_bool("glue_submission", False, "With --do_predict: write the file that the GLUE server takes too.")


def main(argv):
    """Checks the flags, then trains, evaluates and predicts."""
    del argv
    values = FLAGS.flag_values_dict()
    settings = job.Settings.of_flags(values)
    config = driver_flags.read_config(FLAGS.bert_config_file, FLAGS.max_seq_length)
    task = find_task(values, settings)
    if FLAGS.glue_submission:
        glue_submission.check_task(task.name)
    strategy, tokenizer = job.prepare(values, settings, config)
    folder = job.results_dir(settings, strategy)
    data = {split: read(task, FLAGS.data_dir, split, tokenizer, FLAGS.max_seq_length)
            for split, wanted in (("train", settings.do_train), ("dev", settings.do_eval),
                                  ("test", settings.do_predict)) if wanted}
    job.keep_model_files(settings, strategy, config, FLAGS.vocab_file, task_metadata.Task(
        "classifier", FLAGS.max_seq_length, FLAGS.do_lower_case, task.labels,
        pairs=task.splits["train"].text_b is not None, multi_label=bool(task.label_separator)),
        {"data_dir": [os.path.join(FLAGS.data_dir, task.splits["train"].file)]})
    train, dev, test = (data.get(split, (None, None)) for split in ("train", "dev", "test"))
    tuned = job.run(
        settings, strategy, config, task_model(task, dev[1] and dev[1]["label_ids"]),
        training_data=job.batches_of(train[1], settings, strategy) if settings.do_train else None,
        num_train_steps=settings.num_train_steps(len(train[0])) if settings.do_train else 1, eval_features=dev[1])
    if settings.do_eval:
        draw_confusion(task, dev[1]["label_ids"], tuned.eval_outputs["logits"], folder)
    if settings.do_predict:
        predict(tuned, task, *test, FLAGS.predict_batch_size, folder, FLAGS.glue_submission)


def find_task(values, settings):
    """The ClassificationTask that flag values describe, a dict and Settings; InputError names the flag that is wrong.

    The labels of one's own files are those of the training file, or of the model if it is only to be used.
    """
    if values["glue_submission"] and not settings.do_predict:
        raise InputError("--glue_submission: writes predictions, give --do_predict too")
    data_dir = values["data_dir"]
    if not values["task_name"]:
        raise InputError("--task_name is needed")
    if not data_dir or not os.path.isdir(data_dir):
        raise InputError(f"--data_dir={data_dir}: no such folder" if data_dir else "--data_dir is needed")
    from data_prep.tasks import classification

    kept = None if settings.do_train or not settings.output_dir else job.kept_task(settings, "classifier")
    if values["task_name"] == "own":
        return classification.own_task(
            data_dir, values["text_a_column"], values["text_b_column"], values["label_column"],
            labels=kept.labels if kept else (), regression=values["regression"],
            label_separator=values["label_separator"])
    try:
        task = classification.find_task(values["task_name"])
    except ValueError as error:
        raise InputError(f"--task_name: {error}, and own") from error
    if kept and kept.labels != task.labels:
        learned, needed = (", ".join(each.labels) or "a number" for each in (kept, task))
        raise InputError(f"--task_name={values['task_name']}: the model was trained for another task, its labels are "
                         f"{learned}, those of the task {needed}")
    return task


def read(task, data_dir, split, tokenizer, max_seq_length):
    """The Examples of a split and their features; says what is odd about them on standard error."""
    from data_prep.tasks import classification

    examples = classification.read_examples(task, data_dir, split)
    features = classification.convert_examples_to_features(examples, tokenizer, max_seq_length, show_progress=True)
    cut = classification.count_cut(examples, tokenizer, max_seq_length)
    notes = []
    if examples.num_broken:
        notes.append(f"{examples.num_broken:,} rows have too few columns and are left out")
    if examples.num_empty:
        notes.append(f"{examples.num_empty:,} rows have an empty text")
    if cut.num_examples:
        notes.append(f"{cut.num_examples:,} rows are longer than --max_seq_length={max_seq_length}: "
                     f"{cut.num_pieces:,} of all {cut.all_pieces:,} pieces are cut off")
    for note in notes:
        print(f"{split}: {len(examples):,} rows; {note}", file=sys.stderr)
    return examples, features


def task_model(task, eval_labels):
    """The finetuning.TaskModel of a task; `eval_labels` are those of the development data."""
    from bert_tf import losses, models
    from run.evaluation import metrics

    loss_function = losses.classification_loss
    if task.regression:
        loss_function = losses.regression_loss
    elif task.label_separator:
        loss_function = losses.multi_label_loss

    def score(outputs):
        loss = float(loss_function(outputs, eval_labels))
        predictions = metrics.predictions_of(outputs["logits"], task.regression, bool(task.label_separator))
        return {**metrics.score(task.metrics, eval_labels, predictions), "eval_loss": loss, "loss": loss}

    return job.TaskModel(
        make=lambda encoder: models.BertClassifier(encoder, task.num_outputs),
        loss=lambda outputs, features: {"loss": loss_function(outputs, features["label_ids"])},
        score=score, metric=f"eval_{task.metrics[0]}")


def draw_confusion(task, labels, logits, folder):
    """Draws confusion.png in `folder` for a task of one label an example; labels [n], logits [n, labels]."""
    if task.regression or task.label_separator:
        return
    from run.evaluation import plots

    plots.confusion_matrix(os.path.join(folder, "confusion.png"), labels, logits.argmax(axis=1), task.labels)


def predict(tuned, task, examples, features, batch_size, folder, glue):
    """Writes test_results.tsv: a row for each example, a probability for each label, or the number.

    With `glue`, the file that the GLUE server takes too.
    """
    from run.evaluation import metrics, results

    kinds = task.regression, bool(task.label_separator)
    logits = tuned.predictor(features, batch_size)["logits"]
    results.write_predictions(folder, metrics.probabilities_of(logits, *kinds))
    if glue:
        print(glue_submission.write(folder, task, examples.guids, metrics.predictions_of(logits, *kinds)))


if __name__ == "__main__":
    script.run(main, define_flags)
