"""This project's training checkpoints (tf.train.Checkpoint), read by variable name for their weights alone."""

from bert_tf.checkpoints import adapters
from bert_tf.checkpoints.tensors import WORD_EMBEDDINGS, Checkpoint
from bert_tf.checkpoints.tf1 import original_tensors

KIND = "training checkpoint"

MODEL = "model/"  # the name under which the training loop saves the model, beside its optimizer
DROPOUT_STATE = "/dropout_generator/"  # BertEncoder's


def is_training_checkpoint(names):
    """Whether `object_graph.variable_names` are of a model of this project."""
    return WORD_EMBEDDINGS in names.values()


def read(file, names):
    """Reads a TensorFlowFile with its `object_graph.variable_names`; optimizer state is left out, adapters are merged.
    """
    tensors = {}
    for key, name in names.items():
        if key.startswith(MODEL) and DROPOUT_STATE not in key:
            tensors |= original_tensors(name, file.tensor(key))
    return Checkpoint(file.prefix, KIND, adapters.merged(tensors))


def holds_adapters(names):
    """Whether `object_graph.variable_names` are of a model with adapters."""
    return adapters.SCALE in names.values()
