"""This project's training checkpoints (tf.train.Checkpoint), read by variable name for their weights alone."""

import functools

from bert_tf.checkpoints.tensors import WORD_EMBEDDINGS, Checkpoint
from bert_tf.checkpoints.tf1 import original_names

KIND = "training checkpoint"

MODEL = "model/"  # the name under which the training loop saves the model, beside its optimizer
DROPOUT_STATE = "/dropout_generator/"  # BertEncoder's


def is_training_checkpoint(names):
    """Whether `object_graph.variable_names` are of a model of this project."""
    return WORD_EMBEDDINGS in names.values()


def read(file, names):
    """Reads a TensorFlowFile with its `object_graph.variable_names`; optimizer state is left out."""
    tensors = {}
    for key, name in names.items():
        if key.startswith(MODEL) and DROPOUT_STATE not in key:
            tensors |= _canonical(name, file.tensor(key))
    return Checkpoint(file.prefix, KIND, tensors)


def _canonical(name, tensor):
    """The original's tensors that lie side by side in one of ours: {canonical name: StoredTensor}."""
    parts = original_names(name)
    if len(parts) == 1:
        return {name: tensor}
    width = tensor.shape[-1] // len(parts)
    shape = [*tensor.shape[:-1], width]
    return {part: tensor.map(shape, functools.partial(_columns, start=number * width, stop=(number + 1) * width))
            for number, part in enumerate(parts)}


def _columns(value, start, stop):
    return value[..., start:stop]
