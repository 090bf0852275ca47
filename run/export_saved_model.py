"""Writes a fine-tuned classifier as a SavedModel that takes raw text, for TensorFlow Serving.

  python -m run.export_saved_model --bert_config_file=bert_config.json --vocab_file=vocab.txt \\
      --init_checkpoint=OUTPUT_DIR_OF_RUN_CLASSIFIER --export_dir=serving/sentiment
"""

import os

from absl import flags

from data_prep import command_line
from run.driver import flags as driver_flags

FLAGS = flags.FLAGS


def define_flags():
    """Defines this script's flags."""
    driver_flags.define_model_flags()
    driver_flags.define_tokenizer_flags()
    flags.DEFINE_string(
        "export_dir", None, "Folder of the served model; the SavedModel becomes export_dir/VERSION. Needed.")
    flags.DEFINE_integer(
        "version", None, "Version number; unset means one more than the highest in --export_dir.", lower_bound=1)
    flags.DEFINE_string(
        "labels_file", None, "Label names, one a line, in the order of their ids; unset means the labels.txt that "
                             "run_classifier wrote beside the checkpoint.")
    flags.DEFINE_bool("pairs", False, "Whether an example is two texts: inputs text_a and text_b in place of text.")


def main(argv):
    """Checks the flags, then loads and exports."""
    del argv
    for name in ("export_dir", "init_checkpoint"):
        if not FLAGS[name].value:
            raise ValueError(f"--{name} is needed")
    if os.path.exists(FLAGS.export_dir) and not os.path.isdir(FLAGS.export_dir):
        raise ValueError(f"--export_dir={FLAGS.export_dir}: is a file, a folder is needed")
    config = driver_flags.read_config(FLAGS.bert_config_file, FLAGS.max_seq_length)
    labels = read_labels(FLAGS.labels_file, FLAGS.init_checkpoint)
    tokenizer = driver_flags.read_tokenizer(FLAGS.vocab_file, FLAGS.do_lower_case, FLAGS.init_checkpoint, config)

    from bert_tf import export, models
    from bert_tf.checkpoints import load_pretrained

    model = models.BertClassifier(config, len(labels))
    report = load_pretrained(model, FLAGS.init_checkpoint)
    if report.missing:
        raise ValueError(f"--init_checkpoint={FLAGS.init_checkpoint}: is not of a fine-tuned classifier, it lacks "
                         f"{', '.join(report.missing)}")
    path = export.export_classifier(model, tokenizer, labels, FLAGS.export_dir, pairs=FLAGS.pairs,
                                    max_seq_length=FLAGS.max_seq_length, version=FLAGS.version)
    print(f"{path}: SavedModel with the signatures serving_default (text) and ids, labels {', '.join(labels)}")


def read_labels(labels_file, init_checkpoint):
    """The label names of `--labels_file`, or of labels.txt beside the checkpoint."""
    if not labels_file:
        folder = init_checkpoint if os.path.isdir(init_checkpoint) else os.path.dirname(init_checkpoint)
        labels_file = os.path.join(folder, "labels.txt")
    command_line.check_file("labels_file", labels_file)
    with open(labels_file, encoding="utf-8") as file:
        labels = file.read().splitlines()
    if not labels:
        raise ValueError(f"--labels_file={labels_file}: is empty; a regression model has no labels to serve")
    if labels[0].startswith("#"):
        raise ValueError(f"--labels_file={labels_file}: a text may have several of these labels; the export is for "
                         "models that give one")
    return labels


if __name__ == "__main__":
    command_line.run(main, define_flags)
