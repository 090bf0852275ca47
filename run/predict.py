"""Predicts each row of a file with a trained model of any task.

  python -m run.predict --model=OUTPUT_DIR --input_file=reviews.txt --output_file=answers.jsonl

  python -m run.predict --model=serving/mrpc/1 --input_file=pairs.tsv \\
      --columns=sentence1,sentence2 --output_file=answers.tsv

The model is a checkpoint directory or a SavedModel. Input rows are lines of text, tables with a
header (.tsv, .csv), or JSON lines (.jsonl). The output is JSON lines, or a table if its name ends
in .tsv.
"""

from bert_tf.cli import script
from run.inference.settings import PredictionSettings

COMMAND = script.Command(PredictionSettings(), "run.inference.predict")

if __name__ == "__main__":
    COMMAND.run()
