"""Writes the contextual embeddings of each token of a text, from any layers of a pre-trained BERT.

  python -m run.extract_features --input_file=input.txt --output_file=output.jsonl \\
      --init_checkpoint=uncased_L-12_H-768_A-12 --layers=-1,-2,-3,-4

Each line of the input is a text, or a pair of texts, `text_a ||| text_b`.
"""

from bert_tf.cli import script
from run.inference.settings import ExtractionSettings

COMMAND = script.Command(ExtractionSettings(), "run.inference.extract")

if __name__ == "__main__":
    COMMAND.run()
