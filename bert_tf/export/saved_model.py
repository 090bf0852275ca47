"""Writes a Servable as a SavedModel in the layout that TensorFlow Serving watches.

The file holds the weights, the tokenizer, vocab.txt and bert_config.json, and needs nothing of this package to run;
TensorFlow Text must be there for its kernels (`import tensorflow_text`; TensorFlow Serving links it).
"""

import os
import tempfile

import tensorflow as tf

from bert_tf.checkpoints import tensorflow_file
from bert_tf.errors import InputError
from bert_tf.export import warmup, weight_storage
from bert_tf.files import new_folder


def save(servable, directory, *, version=None, weights="float32"):
    """Writes `directory`/`version`, which appears there only when it is whole.

    Args:
      servable: Servable.
      directory: the model's folder; made if missing.
      version: int; None takes the number after the highest there.
      weights: how matrices are stored, one of stored_weights.KINDS. All are float32 once loaded.

    Returns:
      (path, has_warmup): path of the SavedModel; bool, whether it holds requests to warm up with, for which the package
      tensorflow-serving-api must be installed.

    Raises:
      InputError: a version that exists, or an unknown kind of weights.
    """
    os.makedirs(directory, exist_ok=True)
    if version is None:
        version = 1 + max((int(name) for name in os.listdir(directory) if name.isdecimal()), default=0)
    path = os.path.join(directory, str(version))
    if os.path.exists(path):
        raise InputError(f"{path}: exists; choose another version")
    # The module holds variables, not the model itself: Keras would add its own functions for every layer.
    module = tf.Module()
    module.tokenizer = servable.tokenizer
    module.vocabulary = tf.saved_model.Asset(servable.tokenizer.vocab_file)
    with (weight_storage.attached(servable.model, weights, module), tempfile.TemporaryDirectory() as folder,
          new_folder(path) as partial):  # under a name that TensorFlow Serving ignores
        tensorflow_file.write_config(folder, servable.config)
        module.config = tf.saved_model.Asset(os.path.join(folder, tensorflow_file.CONFIG_NAME))
        tf.saved_model.save(module, partial, signatures=servable.signatures())
        has_warmup = warmup.is_available()
        if has_warmup:
            warmup.write(servable, partial, os.path.basename(os.path.normpath(directory)))
    return path, has_warmup
