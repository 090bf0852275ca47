"""Writes the vectors that a pre-trained BERT gives each token of a text, of any of its layers.

  python -m run.extract_features --input_file=input.txt --output_file=output.jsonl \\
      --init_checkpoint=uncased_L-12_H-768_A-12 --layers=-1,-2,-3,-4

A line of the input is a text, or a pair of texts, `text_a ||| text_b`.
"""

from bert_tf.cli import flags, script
from run.inference.settings import ExtractionSettings
from run.settings import from_folder


def define_flags():
    """Defines this script's flags; the original's keep their names, defaults and meanings."""
    flags.define(ExtractionSettings())


def main(argv):
    """Checks the flags, then extracts."""
    del argv
    settings = from_folder.complete(flags.read(ExtractionSettings()), flags.given())
    config = settings.read_config()
    from run.inference import extraction

    extraction.run(settings, config)


if __name__ == "__main__":
    script.run(main, define_flags)
