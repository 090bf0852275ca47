"""Fine-tunes BERT on sentences or sentence pairs: GLUE, XNLI, or TSV and CSV files of one's own.

  python -m run.run_classifier --task_name=MRPC --data_dir=MRPC --vocab_file=vocab.txt \\
      --bert_config_file=bert_config.json --init_checkpoint=bert_model.ckpt --output_dir=mrpc --do_train --do_eval

  python -m run.run_classifier --task_name=own --text_a_column=sentence --label_column=label --data_dir=FOLDER ...
"""

import os

from absl import flags

from data_prep import command_line
from run.driver import flags as driver_flags

FLAGS = flags.FLAGS

LABELS_FILE = "labels.txt"
SEVERAL_LABELS = "# a text may have several of these"


def define_flags():
    """Defines this script's flags; the original's keep their names, defaults and meanings."""
    driver_flags.define_model_flags()
    driver_flags.define_tokenizer_flags()
    driver_flags.define_training_flags()
    driver_flags.define_distribution_flags()
    flags.DEFINE_string("data_dir", None, "Folder of the task's files (train.tsv, dev.tsv, ...). Needed.")
    flags.DEFINE_string(
        "task_name", None, "cola, sst-2, mrpc, sts-b, qqp, mnli, mnli-mm, qnli, rte, wnli or xnli, whose files are "
                           "read as published; or own, for files with a header. Needed.")
    flags.DEFINE_string("text_a_column", "text", "With --task_name=own: the column of the text.")
    flags.DEFINE_string("text_b_column", None, "With --task_name=own: the column of the second text, if any.")
    flags.DEFINE_string("label_column", "label", "With --task_name=own: the column of the label or number.")
    flags.DEFINE_bool("regression", False, "With --task_name=own: whether the label is a number.")
    flags.DEFINE_string(
        "label_separator", None, "With --task_name=own: what stands between labels where a row may have several.")
    flags.DEFINE_bool("do_train", False, "Whether to train, on the split train.")
    flags.DEFINE_bool("do_eval", False, "Whether to evaluate, on the split dev.")
    flags.DEFINE_bool("do_predict", False, "Whether to write test_results.tsv for the split test.")
    flags.DEFINE_integer("predict_batch_size", 8, "Examples in a prediction step.", lower_bound=1)
    flags.DEFINE_float("num_train_epochs", 3.0, "Times that training goes through the data.", lower_bound=0)
    flags.DEFINE_float(
        "warmup_proportion", 0.1, "Share of the training steps over which the learning rate rises from 0.",
        lower_bound=0, upper_bound=1)


def main(argv):
    """Checks the flags, then trains, evaluates and predicts."""
    del argv
    if not (FLAGS.do_train or FLAGS.do_eval or FLAGS.do_predict):
        raise ValueError("nothing to do: give --do_train, --do_eval or --do_predict")
    driver_flags.note_unneeded({name: FLAGS[name].present for name in driver_flags.UNNEEDED})
    config = driver_flags.read_config(FLAGS.bert_config_file, FLAGS.max_seq_length)
    task = find_task(FLAGS.task_name, FLAGS.data_dir, FLAGS.text_a_column, FLAGS.text_b_column, FLAGS.label_column,
                     FLAGS.regression, FLAGS.label_separator,
                     known_labels=() if FLAGS.do_train else read_labels(FLAGS.output_dir))
    tokenizer = driver_flags.read_tokenizer(FLAGS.vocab_file, FLAGS.do_lower_case, FLAGS.init_checkpoint, config)
    driver_flags.make_output_dir(FLAGS.output_dir)

    from data_prep.tasks import classification
    from run.driver import distribution, inputs, training

    strategy = distribution.make_strategy(
        "tpu" if FLAGS.use_tpu else FLAGS.distribution_strategy, FLAGS.num_gpus, FLAGS.tpu_name)
    for flag in ("train_batch_size", "eval_batch_size", "predict_batch_size"):
        distribution.check_batch_size(flag, FLAGS[flag].value, strategy)
    wanted = (("train", FLAGS.do_train), ("dev", FLAGS.do_eval), ("test", FLAGS.do_predict))
    features = {split: classification.convert_examples_to_features(
        classification.read_examples(task, FLAGS.data_dir, split), tokenizer, FLAGS.max_seq_length, show_progress=True)
        for split, is_wanted in wanted if is_wanted}
    driver_flags.keep_config(FLAGS.output_dir, config)
    keep_labels(FLAGS.output_dir, task)
    num_train_steps = 1
    if FLAGS.do_train:
        num_examples = len(features["train"]["label_ids"])
        num_train_steps = int(num_examples / FLAGS.train_batch_size * FLAGS.num_train_epochs)
        if num_train_steps < 1:
            raise ValueError(f"--train_batch_size={FLAGS.train_batch_size}: {FLAGS.num_train_epochs} epochs of "
                             f"{num_examples} examples do not fill one batch")
    settings = training.TrainingSettings(
        FLAGS.output_dir, num_train_steps, FLAGS.train_batch_size, FLAGS.save_checkpoints_steps,
        FLAGS.keep_checkpoint_max, FLAGS.iterations_per_loop)
    run, model = start(strategy, config, task, settings, FLAGS.learning_rate,
                       int(num_train_steps * FLAGS.warmup_proportion), FLAGS.random_seed, FLAGS.init_checkpoint)
    if FLAGS.do_train:
        run.train(lambda skip_steps: inputs.training_data_of_arrays(
            features["train"], FLAGS.train_batch_size, FLAGS.random_seed, skip_steps))
    elif not run.step and not FLAGS.init_checkpoint:
        raise ValueError(f"--output_dir={FLAGS.output_dir}: holds no checkpoint to evaluate; train first, or give "
                         "--init_checkpoint")
    if FLAGS.do_eval:
        evaluate(strategy, model, task, features["dev"], FLAGS.eval_batch_size, run.step, FLAGS.output_dir)
    if FLAGS.do_predict:
        predict(strategy, model, task, features["test"], FLAGS.predict_batch_size, FLAGS.output_dir)


def find_task(task_name, data_dir, text_a, text_b, label, regression, label_separator, known_labels):
    """The ClassificationTask that the flags describe; ValueError names the flag that is wrong.

    The labels of one's own files are those of train.tsv, or `known_labels` where these are given.
    """
    if not task_name:
        raise ValueError("--task_name is needed")
    if not data_dir or not os.path.isdir(data_dir):
        raise ValueError(f"--data_dir={data_dir}: no such folder" if data_dir else "--data_dir is needed")
    from data_prep.tasks import classification

    if task_name == "own":
        return classification.own_task(data_dir, text_a, text_b, label, labels=known_labels,
                                       regression=regression, label_separator=label_separator)
    try:
        return classification.find_task(task_name)
    except ValueError as error:
        raise ValueError(f"--task_name: {error}, and own") from error


def read_labels(output_dir):
    """The label names that a run in a folder keeps; none if it keeps none."""
    path = os.path.join(output_dir or "", LABELS_FILE)
    if not os.path.exists(path):
        return ()
    with open(path, encoding="utf-8") as file:
        return tuple(label for label in file.read().splitlines() if label != SEVERAL_LABELS)


def start(strategy, config, task, settings, learning_rate, num_warmup_steps, seed, init_checkpoint):
    """Makes the model and takes up its run.

    Returns:
      TrainingRun and the BertClassifier it trains, under the strategy's scope.
    """
    from bert_tf import models, optimization
    from run.driver import distribution, training

    with strategy.scope():
        encoder = models.BertEncoder(config, seed=seed, remove_padding=distribution.allows_dynamic_shapes(strategy))
        model = models.BertClassifier(encoder, task.num_outputs)
        optimizer = optimization.create_optimizer(learning_rate, settings.num_train_steps, num_warmup_steps)
    loss = loss_of(task)
    run = training.TrainingRun(
        strategy, model, optimizer, lambda outputs, features: {"loss": loss(outputs, features["label_ids"])},
        ("loss",), settings, init_checkpoint)
    return run, model


def loss_of(task):
    """The training loss of a task: (outputs, labels) -> scalar."""
    from bert_tf import losses

    if task.regression:
        return losses.regression_loss
    return losses.multi_label_loss if task.label_separator else losses.classification_loss


def evaluate(strategy, model, task, features, batch_size, step, output_dir):
    """Writes eval_results.txt: the task's metrics and the loss on `features`, dict of arrays with label_ids."""
    from run.driver import evaluation, inputs, metrics

    labels = features["label_ids"]
    logits = evaluation.predict(strategy, model, inputs.evaluation_data_of_arrays(features, batch_size),
                                "evaluating")["logits"]
    loss = float(loss_of(task)({"logits": logits}, labels))
    predictions = metrics.predictions_of(logits, task.regression, bool(task.label_separator))
    evaluation.write_results(
        os.path.join(output_dir, "eval_results.txt"),
        {**metrics.score(task.metrics, labels, predictions), "eval_loss": loss, "loss": loss, "global_step": step})


def predict(strategy, model, task, features, batch_size, output_dir):
    """Writes test_results.tsv: a row for each example, a probability for each label, or the number."""
    from run.driver import evaluation, inputs, metrics

    logits = evaluation.predict(strategy, model, inputs.evaluation_data_of_arrays(features, batch_size))["logits"]
    rows = metrics.probabilities_of(logits, task.regression, bool(task.label_separator))
    path = os.path.join(output_dir, "test_results.tsv")
    with open(path + ".partial", "w", encoding="utf-8") as file:
        file.writelines("\t".join(str(value) for value in row) + "\n" for row in rows)
    os.replace(path + ".partial", path)


def keep_labels(output_dir, task):
    """Writes the label names in the order of their ids, for the export; ValueError if another task's are there.

    A regression has none. Where a row may have several labels, the first line is a comment that says so.
    """
    path = os.path.join(output_dir, LABELS_FILE)
    text = "".join(f"{label}\n" for label in ((SEVERAL_LABELS,) if task.label_separator else ()) + task.labels)
    if driver_flags.holds_run(output_dir):
        there = None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                there = file.read()
        if there != text:
            labels = "no labels" if there is None else f"the labels {', '.join(there.splitlines())}"
            raise ValueError(f"--output_dir={output_dir}: holds the run of another task, with {labels}, not "
                             f"{', '.join(task.labels) or 'a number'}; choose another folder")
    with open(path + ".partial", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".partial", path)


if __name__ == "__main__":
    command_line.run(main, define_flags)
