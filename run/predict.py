"""Answers each row of a file with a trained model of any task.

  python -m run.predict --model=OUTPUT_DIR --input_file=reviews.txt --output_file=answers.jsonl

  python -m run.predict --model=serving/mrpc/1 --input_file=pairs.tsv --columns=sentence1,sentence2 \\
      --output_file=answers.tsv

The model is a checkpoint's folder or a SavedModel. Rows are lines of text, tables with a header (.tsv, .csv) or JSON
lines (.jsonl); answers are JSON lines or, of a .tsv, a table.
"""

from bert_tf.cli import flags, script
from run.inference.settings import PredictionSettings


def define_flags():
    """Defines this script's flags."""
    flags.define(PredictionSettings())


def main(argv):
    """Checks the flags, loads the model and answers."""
    del argv
    settings = flags.read(PredictionSettings())
    settings.check_files()
    from run.inference import predicting

    predicting.run(settings, flags.given())


if __name__ == "__main__":
    script.run(main, define_flags)
