"""Writes a trained model as a file that answers raw text: a SavedModel for TensorFlow Serving, or a LiteRT model.

  python -m run.export_saved_model --init_checkpoint=OUTPUT_DIR --export_dir=serving/reviews

A folder that a fine-tuning script wrote says in task.json what the model does. Of any other checkpoint --task says it:

  python -m run.export_saved_model --task=masked_lm --init_checkpoint=uncased_L-12_H-768_A-12/bert_model.ckpt \\
      --export_dir=serving/bert
"""

from bert_tf.cli import flags, script
from run.inference.settings import ExportSettings


def define_flags():
    """Defines this script's flags."""
    flags.define(ExportSettings())


def main(argv):
    """Checks the flags, then loads and exports."""
    del argv
    settings = flags.read(ExportSettings())
    settings.check_files()
    from run.inference import exporting

    exporting.run(settings, flags.given())


if __name__ == "__main__":
    script.run(main, define_flags)
