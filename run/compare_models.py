"""Compares fine-tuned models of one task: parameters, megabytes, score, latency, as SavedModel and LiteRT.

  python -m run.compare_models --models=sst2,student,pruned --data_dir=SST-2 --output_dir=report

Taggers and multiple choice take --dev_file, span labelers --predict_file, in place of --data_dir.
"""

from bert_tf.cli import flags, script
from run.compression.comparison.settings import ComparisonSettings


def define_flags():
    """Defines this script's flags."""
    flags.define(ComparisonSettings())


def main(argv):
    """Checks the flags, then measures all models."""
    del argv
    settings = flags.read(ComparisonSettings())
    settings.check_files()
    from run.compression.comparison import job

    job.run(settings)


if __name__ == "__main__":
    script.run(main, define_flags)
