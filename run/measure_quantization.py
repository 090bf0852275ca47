"""Says what int8 costs a fine-tuned model: its score with each matrix rounded alone, and with all of them.

  python -m run.measure_quantization --init_checkpoint=FINE_TUNED_FOLDER --data_dir=SST-2

What is rounded is computed as a LiteRT file with int8 weights computes it. A tagger and multiple choice take
--dev_file, a span labeler --predict_file, in place of --data_dir.
"""

from bert_tf.cli import flags, script
from run.compression.quantization.settings import QuantizationSettings
from run.settings import from_folder


def define_flags():
    """Defines this script's flags."""
    flags.define(QuantizationSettings())


def main(argv):
    """Checks the flags, then measures."""
    del argv
    settings = flags.read(QuantizationSettings())
    settings.check_places()
    settings = from_folder.complete(settings, flags.given())
    from run.compression.quantization import job

    job.run(settings, flags.given())


if __name__ == "__main__":
    script.run(main, define_flags)
