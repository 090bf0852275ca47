"""Scores an exported model on development data, beside the checkpoint that it was made from.

  python -m run.evaluate_export --init_checkpoint=OUTPUT_DIR --model=serving/sst2 --data_dir=SST-2

A span labeler takes --predict_file, a tagger and multiple choice --dev_file, in place of --data_dir.
"""

from bert_tf.cli import flags, script
from run.inference.settings import ExportEvaluationSettings


def define_flags():
    """Defines this script's flags."""
    flags.define(ExportEvaluationSettings())


def main(argv):
    """Checks the flags, then evaluates both."""
    del argv
    settings = flags.read(ExportEvaluationSettings())
    settings.check_files()
    from run.inference import export_evaluation

    export_evaluation.run(settings, flags.given())


if __name__ == "__main__":
    script.run(main, define_flags)
