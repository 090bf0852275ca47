"""Detects the format of a checkpoint and opens it."""

import dataclasses
import os
import re

from bert_tf import files
from bert_tf.checkpoints import adapters, huggingface, model_garden, tensorflow_file, tf1
from bert_tf.checkpoints.tensors import Checkpoint, original_tensors
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.latest_checkpoint import find_latest_checkpoint
from bert_tf.model_folder import saved_models, weights_in
from bert_tf.model_folder.weights import REJECTED_SUFFIXES, WEIGHTS_SUFFIXES
from bert_tf.variables import WORD_EMBEDDINGS

_FILE_ENDING = re.compile(r"\.(index|meta|data-\d+-of-\d+)$")  # The ends of the files of a TensorFlow checkpoint.
_MODEL = "model/"  # The name under which the training loop saves the model, next to its optimizer.
_DROPOUT_STATE = "/dropout_generator/"  # BertEncoder's


def open_checkpoint(path):
    """Detects the format of a checkpoint and opens it.

    Args:
      path: Prefix of a TensorFlow checkpoint (`bert_model.ckpt`, `ckpt-1000`) of the original, this project's training
        loop, or tf-models-official, or one of its files; a .safetensors file of Hugging Face, or the
        .safetensors.index.json of several; or a directory that contains one of these, or a SavedModel of an encoder of
        tf-models-official. For a training run, this is the latest checkpoint.

    Returns:
      bert_tf.checkpoints.tensors.Checkpoint, which reads its tensors lazily.

    Raises:
      InputError: If there is no checkpoint, if there are two of different formats, or if it is not a BERT checkpoint.
    """
    location = find_checkpoint(path)
    if location.endswith(WEIGHTS_SUFFIXES):
        return huggingface.read(location)
    file = tensorflow_file.TensorFlowFile(location)
    names = set(file.variable_names.values())
    if WORD_EMBEDDINGS in names:
        checkpoint = _read_training_checkpoint(file)
    elif WORD_EMBEDDINGS in map(model_garden.canonical_name, names):
        checkpoint = model_garden.read(file)
    elif not names:
        checkpoint = tf1.read(file)
    else:
        raise InputError(f"{location}: the checkpoint does not contain a BERT of this project or of "
                         f"tf-models-official; its first variable is {min(names)}")
    config_path = os.path.join(os.path.dirname(location), tensorflow_file.CONFIG_NAME)
    if files.at(config_path).exists():
        checkpoint = dataclasses.replace(checkpoint, config=BertConfig.from_json_file(config_path))
    return checkpoint


def _read_training_checkpoint(file):
    """Reads the weights of a TensorFlowFile of this project's training loop, by variable name, with merged adapters."""
    if not any(key.startswith(_MODEL) for key in file.variable_names):
        raise InputError(f"{file.prefix}: was not written by these scripts (save_weights of Keras, for example); load "
                         "it into the model, and save that with tf.train.Checkpoint(model=model).write(PREFIX)")
    tensors = {}
    for key, name in file.variable_names.items():
        if key.startswith(_MODEL) and _DROPOUT_STATE not in key:
            tensors |= original_tensors(name, file.tensor(key))
    return Checkpoint(file.prefix, "training checkpoint", adapters.merge_adapters(tensors))


def holds_adapters(path):
    """Returns whether a checkpoint is from a training run with adapters; see `open_checkpoint`, which merges them."""
    location = find_checkpoint(path)
    return not location.endswith(WEIGHTS_SUFFIXES) and (
        adapters.SCALE in tensorflow_file.TensorFlowFile(location).variable_names.values())


def find_checkpoint(path):
    """Finds a checkpoint at a path or in a directory: returns a TensorFlow prefix or the path of a Hugging Face file.

    Raises:
      InputError: If there is no checkpoint, if a directory contains both kinds, or if the path cannot be read.
    """
    path = os.fsdecode(path)
    try:
        if path.endswith(WEIGHTS_SUFFIXES):
            if not files.at(path).exists():
                raise InputError(f"{path}: does not exist")
            return path
        prefix, weights = _FILE_ENDING.sub("", path), None
        if files.at(path).is_dir():
            prefix = find_latest_checkpoint(path) or os.path.join(path, tensorflow_file.CHECKPOINT_NAME)
            weights = weights_in(path)
            if not files.at(prefix + ".index").exists() and not weights and saved_models.is_encoder(path):
                prefix = os.path.join(path, saved_models.VARIABLES_NAME)
        has_index = files.at(prefix + ".index").exists()
    except OSError as error:  # no access, or a file system that TensorFlow does not support
        raise InputError(str(error)) from error
    if not has_index and not weights:
        raise InputError(f"{path}: no checkpoint found; {prefix}.index does not exist")
    if has_index and weights and not weights.endswith(REJECTED_SUFFIXES):
        raise InputError(f"{path}: contains {os.path.basename(prefix)} and {os.path.basename(weights)}; set one of "
                         "them instead of the directory")
    return prefix if has_index else weights


def checkpoint_files(path):
    """Returns the files with the weights of a checkpoint, a list of str; see `find_checkpoint`."""
    location = find_checkpoint(path)
    if location.endswith(WEIGHTS_SUFFIXES):
        return huggingface.list_files(location)
    folder, prefix = os.path.split(location)
    return [os.path.join(folder, name) for name in files.at(folder).names() if name.startswith(f"{prefix}.")]
