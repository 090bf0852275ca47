"""Predicts the tokens for each [MASK] of a text, or of a pair of texts, with a pre-trained BERT.

  python -m run.fill_mask --init_checkpoint=uncased_L-12_H-768_A-12 \\
      --text='The capital of France is [MASK].'

  python -m run.fill_mask --init_checkpoint=uncased_L-12_H-768_A-12 \\
      --text='the man went to [MASK] store ||| he bought a gallon [MASK] milk'

  python -m run.fill_mask --model=serving/bert/model_int8.tflite

--model is a LiteRT file, which starts immediately, the directory of an export, or a checkpoint.

For pairs, it also prints the probability that the second text follows the first, if the checkpoint
has that head.

A pair is `text_a ||| text_b`. Without --text, it reads texts from standard input, one per line.
"""

from bert_tf.cli import script
from run.inference.settings import FillMaskSettings

COMMAND = script.Command(FillMaskSettings(), "run.inference.terminal")

if __name__ == "__main__":
    COMMAND.run()
