"""Exports a trained model as a SavedModel, or for LiteRT, ONNX Runtime, or OpenVINO.

  python -m run.export_saved_model --init_checkpoint=OUTPUT_DIR --export_dir=serving/reviews

All accept raw text. The SavedModel is for TensorFlow Serving. The directory of a fine-tuning run
contains task.json, which specifies the task. For other checkpoints, set --task:

  python -m run.export_saved_model --task=masked_lm \\
      --init_checkpoint=uncased_L-12_H-768_A-12/bert_model.ckpt --export_dir=serving/bert
"""

from bert_tf.cli import script
from run.inference.settings import ExportSettings

COMMAND = script.Command(ExportSettings(), "run.inference.export")

if __name__ == "__main__":
    COMMAND.run()
