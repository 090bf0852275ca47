"""Fine-tunes BERT to choose between continuations or answers: SWAG (section 4.4 of the paper), RACE.

  python -m run.run_multiple_choice --train_file=swag/train.csv --dev_file=swag/val.csv --test_file=swag/test.csv \\
      --vocab_file=vocab.txt --bert_config_file=bert_config.json --init_checkpoint=bert_model.ckpt --output_dir=out \\
      --train_batch_size=16 --learning_rate=2e-5 --do_train --do_eval --do_predict
"""

import os
import sys

from absl import flags

from bert_tf.cli import paths, script
from bert_tf.errors import InputError
from run.finetuning import dataset_flags, job, task_metadata
from run.settings import flags as driver_flags

FLAGS = flags.FLAGS

FORMATS = ("swag", "race")


def define_flags():
    """Defines this script's flags."""
    job.define_flags()
    dataset_flags.define_flags("SWAG's CSV file; or, with --data_format=race, a JSON file or a folder of them")
    flags.DEFINE_enum(
        "data_format", "swag", FORMATS,
        "swag: CSV with the columns sent1, sent2, ending0, ending1, ... and label; race: JSON files with the keys "
        "article, questions, options and answers.")


def main(argv):
    """Checks the flags, then trains, evaluates and predicts."""
    del argv
    values = FLAGS.flag_values_dict()
    settings = job.Settings.of_flags(values)
    files = dataset_flags.wanted(values, settings, allow_folders=FLAGS.data_format == "race")
    config = driver_flags.read_config(FLAGS.bert_config_file, FLAGS.max_seq_length)

    from run.evaluation import metrics, results

    strategy, tokenizer = job.prepare(values, settings, config)
    folder = job.results_dir(settings, strategy)

    data = {split: read(split, path, FLAGS.data_format, tokenizer, FLAGS.max_seq_length)
            for split, path in files.items()}
    job.keep_model_files(settings, strategy, config, FLAGS.vocab_file, task_metadata.Task(
        "multiple_choice", FLAGS.max_seq_length, FLAGS.do_lower_case), {"train_file": training_files(files)})
    labels = data["dev"]["label_ids"] if settings.do_eval else None
    tuned = job.run(
        settings, strategy, config, task_model(labels),
        training_data=job.batches_of(data["train"], settings, strategy) if settings.do_train else None,
        num_train_steps=settings.num_train_steps(len(data["train"]["label_ids"])) if settings.do_train else 1,
        eval_features=data.get("dev"))
    if settings.do_eval:
        draw_confusion(labels, tuned.eval_outputs["logits"], folder)
    if settings.do_predict:
        logits = tuned.predictor(data["test"], settings.predict_batch_size)["logits"]
        results.write_predictions(folder, metrics.probabilities_of(logits))


def training_files(files):
    """The files of the training data, list of str; `files`: dict of split -> file or folder."""
    path = files.get("train", "")
    return paths.files_below(path) if os.path.isdir(path) else [path]


def read(split, path, data_format, tokenizer, max_seq_length):
    """The features of a split's questions; says on standard error what is odd about them.

    Raises:
      InputError: there are no answers to train or evaluate with.
    """
    from data_prep.tasks import classification, multiple_choice

    questions = multiple_choice.READERS[data_format](path)
    if questions.labels is None and split != "test":
        raise InputError(f"--{split}_file={path}: has no answers")
    features = multiple_choice.convert_questions_to_features(questions, tokenizer, max_seq_length, show_progress=True)
    pairs = questions.pairs()
    notes = [f"{split}: {len(questions):,} questions of {questions.num_choices} choices"]
    num_empty = sum(not text.strip() for text in questions.text_a + pairs.text_b)
    if num_empty:
        notes.append(f"{num_empty:,} texts are empty")
    cut = classification.count_cut(pairs, tokenizer, max_seq_length)
    if cut.num_examples:
        notes.append(f"{cut.num_examples:,} choices are longer than --max_seq_length={max_seq_length}: "
                     f"{cut.num_pieces:,} of all {cut.all_pieces:,} pieces are cut off")
    print("; ".join(notes), file=sys.stderr)
    return features


def task_model(eval_labels):
    """The finetuning.TaskModel; `eval_labels` are those of the development data."""
    from bert_tf import losses, models
    from run.evaluation import metrics

    def score(outputs):
        loss = float(losses.classification_loss(outputs, eval_labels))
        predictions = metrics.predictions_of(outputs["logits"])
        return {**metrics.score(("accuracy",), eval_labels, predictions), "eval_loss": loss, "loss": loss}

    return job.TaskModel(
        make=models.BertMultipleChoice,
        loss=lambda outputs, features: {"loss": losses.classification_loss(outputs, features["label_ids"])},
        score=score, metric="eval_accuracy")


def draw_confusion(labels, logits, folder):
    """Draws confusion.png: labels [n], logits [n, choices], by the number of the choice."""
    from run.evaluation import plots

    plots.confusion_matrix(os.path.join(folder, "confusion.png"), labels, logits.argmax(axis=1),
                           [str(number) for number in range(logits.shape[1])])


if __name__ == "__main__":
    script.run(main, define_flags)
