"""This project's training checkpoints (tf.train.Checkpoint), from which only the weights are read, by variable name."""

from bert_tf.checkpoints import adapters
from bert_tf.checkpoints.tensors import Checkpoint, original_tensors
from bert_tf.errors import InputError

KIND = "training checkpoint"

MODEL = "model/"  # The name under which the training loop saves the model, next to its optimizer.
DROPOUT_STATE = "/dropout_generator/"  # BertEncoder's


def read(file):
    """Reads a TensorFlowFile, without optimizer state and with merged adapters.

    Raises:
      InputError: If the model is not where the training loop saves it.
    """
    if not any(key.startswith(MODEL) for key in file.variable_names):
        raise InputError(f"{file.prefix}: was not written by these scripts (save_weights of Keras, for example); load "
                         "it into the model, and save that with tf.train.Checkpoint(model=model).write(PREFIX)")
    tensors = {}
    for key, name in file.variable_names.items():
        if key.startswith(MODEL) and DROPOUT_STATE not in key:
            tensors |= original_tensors(name, file.tensor(key))
    return Checkpoint(file.prefix, KIND, adapters.merge_adapters(tensors))
