"""Writes a trained model as a file that answers raw text: a SavedModel for TensorFlow Serving, or a LiteRT model.

  python -m run.export_saved_model --init_checkpoint=OUTPUT_DIR --export_dir=serving/reviews

A folder that a fine-tuning script wrote says in task.json what the model does. Of any other checkpoint --task says it:

  python -m run.export_saved_model --task=masked_lm --init_checkpoint=uncased_L-12_H-768_A-12/bert_model.ckpt \\
      --export_dir=serving/bert
"""

from bert_tf.cli import script
from run.inference.settings import ExportSettings

COMMAND = script.Command(ExportSettings(), "run.inference.exporting")

if __name__ == "__main__":
    COMMAND.run()
