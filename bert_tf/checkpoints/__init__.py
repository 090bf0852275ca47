"""Reads and writes checkpoints.

They are from the original, this project's training runs, the Model Garden, or Hugging Face.

    load_pretrained(model, path)          loads a checkpoint of any kind into a model
    open_checkpoint(path)                 its tensors under the original's names, without a model
    model_tensors(model)                  the same for a model
    FORMATS["tf1"].write(folder, tensors, config)
"""

from bert_tf.checkpoints.conversion import FORMATS, convert
from bert_tf.checkpoints.loading import (
    checkpoint_files,
    find_checkpoint,
    holds_adapters,
    load_pretrained,
    model_tensors,
    open_checkpoint,
)

__all__ = [
    "FORMATS",
    "checkpoint_files",
    "convert",
    "find_checkpoint",
    "holds_adapters",
    "load_pretrained",
    "model_tensors",
    "open_checkpoint",
]
