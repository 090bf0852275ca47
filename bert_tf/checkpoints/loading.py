"""Opens checkpoints of any format, and loads their weights into a model.

Weights and variables are matched by the original's variable names.
"""

import dataclasses
import os
import re
import typing

import numpy as np
import tensorflow as tf

from bert_tf import files, variables
from bert_tf.checkpoints import adapters, huggingface, model_garden, tf1
from bert_tf.checkpoints.tensors import Checkpoint, StoredTensor, check_settings, original_tensors
from bert_tf.errors import InputError
from bert_tf.latest_checkpoint import find_latest_checkpoint
from bert_tf.model_folder import saved_models, weights_in
from bert_tf.model_folder.weights import REJECTED_SUFFIXES, WEIGHTS_SUFFIXES
from bert_tf.variables import WORD_EMBEDDINGS

# The ends of the files of a TensorFlow checkpoint.
_FILE_ENDING = re.compile(r"\.(index|meta|data-\d+-of-\d+)$")
_MODEL = "model/"  # The name under which the training loop saves the model, next to its optimizer.
_DROPOUT_STATE = "/dropout_generator/"  # BertEncoder's

_LAYER = re.compile(r"^(bert/encoder/layer_)(\d+)/")


def open_checkpoint(path):
    """Detects the format of a checkpoint and opens it.

    Args:
      path: Prefix of a TensorFlow checkpoint (`bert_model.ckpt`, `ckpt-1000`) of the original, this
        project's training loop, or tf-models-official, or one of its files; a .safetensors file of
        Hugging Face, or the .safetensors.index.json of several; or a directory that contains one of
        these, or a SavedModel of an encoder of tf-models-official. For a training run, this is the
        latest checkpoint.

    Returns:
      bert_tf.checkpoints.tensors.Checkpoint, which reads its tensors lazily.

    Raises:
      InputError: If there is no checkpoint, if there are two of different formats, or if it is not
        a BERT checkpoint.
    """
    location = find_checkpoint(path)
    if location.endswith(WEIGHTS_SUFFIXES):
        return huggingface.read(location)
    file = tf1.TensorFlowFile(location)
    names = set(file.variable_names.values())
    if WORD_EMBEDDINGS in names:
        return _read_training_checkpoint(file)
    if WORD_EMBEDDINGS in map(model_garden.canonical_name, names):
        return model_garden.read(file)
    if not names:
        return tf1.read(file)
    raise InputError(
        f"{location}: the checkpoint does not contain a BERT of this project or of "
        f"tf-models-official; its first variable is {min(names)}"
    )


def _read_training_checkpoint(file):
    """Reads the weights of a TensorFlowFile of this project's training loop.

    They are found by variable name, and adapters are merged.
    """
    if not any(key.startswith(_MODEL) for key in file.variable_names):
        raise InputError(
            f"{file.prefix}: was not written by these scripts (save_weights of Keras, for "
            "example); load it into the model, and save that with "
            "tf.train.Checkpoint(model=model).write(PREFIX)"
        )
    tensors = {}
    for key, name in file.variable_names.items():
        if key.startswith(_MODEL) and _DROPOUT_STATE not in key:
            tensors |= original_tensors(name, file.tensor(key))
    return Checkpoint(file.prefix, "training checkpoint", adapters.merge_adapters(tensors))


def holds_adapters(path):
    """Returns whether a checkpoint is from a training run with adapters.

    See `open_checkpoint`, which merges them.
    """
    location = find_checkpoint(path)
    return not location.endswith(WEIGHTS_SUFFIXES) and (
        adapters.SCALE in tf1.TensorFlowFile(location).variable_names.values()
    )


def find_checkpoint(path):
    """Finds a checkpoint at a path or in a directory.

    Returns:
      str. Prefix of a TensorFlow checkpoint, or path of a Hugging Face file.

    Raises:
      InputError: If there is no checkpoint, or if a directory contains both kinds.
      OSError: If the path cannot be read.
    """
    path = os.fsdecode(path)
    if path.endswith(WEIGHTS_SUFFIXES):
        if not files.at(path).exists():
            raise InputError(f"{path}: does not exist")
        return path
    prefix = _FILE_ENDING.sub("", path)
    weights = None
    if files.at(path).is_dir():
        prefix = find_latest_checkpoint(path) or os.path.join(path, tf1.CHECKPOINT_NAME)
        weights = weights_in(path)
        if (
            not files.at(prefix + ".index").exists()
            and not weights
            and saved_models.is_encoder(path)
        ):
            prefix = os.path.join(path, saved_models.VARIABLES_NAME)
    has_index = files.at(prefix + ".index").exists()
    if not has_index and not weights:
        raise InputError(f"{path}: no checkpoint found (*.index or model.safetensors)")
    if has_index and weights and not weights.endswith(REJECTED_SUFFIXES):
        raise InputError(
            f"{path}: contains {os.path.basename(prefix)} and {os.path.basename(weights)}; set "
            "one of them instead of the directory"
        )
    return prefix if has_index else weights


def checkpoint_files(path):
    """Returns the files with the weights of a checkpoint, a list of str; see `find_checkpoint`."""
    location = find_checkpoint(path)
    if location.endswith(WEIGHTS_SUFFIXES):
        return huggingface.list_files(location)
    folder, prefix = os.path.split(location)
    return [
        os.path.join(folder, name)
        for name in files.at(folder).names()
        if name.startswith(f"{prefix}.")
    ]


@dataclasses.dataclass(frozen=True)
class LoadReport:
    """Result of `load_pretrained`, with variable names of the model or the checkpoint."""

    path: str  # Path of the checkpoint.
    loaded: tuple[str, ...]  # Variables of the model that were loaded.
    # Variables of the model that the checkpoint lacks; they keep their initial values.
    missing: tuple[str, ...]
    # Canonical names of tensors that the model lacks, without optimizer state and layers that were
    # not requested.
    unused: tuple[str, ...]
    num_added_tokens: int = 0  # Word embeddings of the model after those of the checkpoint.

    def __str__(self):
        notes = {
            "not in the checkpoint, initial values kept": self.missing,
            "in the checkpoint, not used": self.unused,
        }
        text = f"{self.path}: {len(self.loaded)} variables loaded"
        if self.num_added_tokens:
            text += (
                f"; {self.num_added_tokens} new rows of the word embeddings for added tokens, from "
                "a truncated normal distribution (initializer_range of the config)"
            )
        return text + "".join(
            f"; {note}: {', '.join(names)}" for note, names in notes.items() if names
        )


def load_pretrained(model, path, *, leave=(), layers=(), adds_tokens=False):
    """Loads a checkpoint into a model, matched by the original's variable names.

    Args:
      model: Any model of bert_tf.models.
      path: See `open_checkpoint`.
      leave: Names of variables that keep the model's initial values in any case.
      layers: For each encoder layer of the model, index of the checkpoint's layer to load; () for
        the same index.
      adds_tokens: bool. Whether the model may have more word embeddings than the checkpoint; those
        after the checkpoint's keep their initial values.

    Returns:
      LoadReport. A task head or pooler that the checkpoint lacks is reported as missing.

    Raises:
      InputError: If there is no supported checkpoint at `path`, if it lacks an encoder variable, or
        if a shape, or a known activation or number of heads, differs. Then, nothing is loaded.
    """
    checkpoint = open_checkpoint(path)
    check_settings(
        checkpoint,
        getattr(model, "encoder", model).config,
        "the model; use the checkpoint's config",
    )
    sources = []
    missing = []
    for variable in model.variables:
        name = variable.name.removesuffix(":0")
        # A checkpoint contains no adapters after they were merged.
        if name in leave or adapters.is_adapter(name):
            continue
        source = _Source(variable, name, _list_parts(name, layers))
        if all(part in checkpoint.tensors for part in source.parts):
            if adds_tokens:
                source = source._replace(num_new_rows=_count_new_rows(source, checkpoint))
            _check_shapes(source, checkpoint)
            sources.append(source)
        else:
            missing.append(name)
    _check_missing(missing, checkpoint)
    # Read everything before assigning anything, since a file could be corrupted.
    values = [source.read(checkpoint) for source in sources]
    for source, value in zip(sources, values, strict=True):
        source.variable.assign(value)
    used = {part for source in sources for part in source.parts}
    return LoadReport(
        path=checkpoint.path,
        loaded=tuple(source.name for source in sources),
        missing=tuple(missing),
        unused=tuple(
            sorted(
                name
                for name in set(checkpoint.tensors) - used
                if not (layers and _LAYER.match(name))
            )
        ),
        num_added_tokens=sum(source.num_new_rows for source in sources),
    )


class _Source(typing.NamedTuple):
    """The tensors of a checkpoint for a variable of a model."""

    variable: tf.Variable
    name: str  # Name of the variable.
    parts: list[str]  # Canonical names of the tensors, which are concatenated on the last axis.
    num_new_rows: int = 0  # Last rows of the variable, which the tensors lack.

    def read(self, checkpoint):
        """Returns the value of the variable, with its initial values of new rows."""
        value = np.concatenate([checkpoint.tensors[part].read() for part in self.parts], axis=-1)
        if not self.num_new_rows:
            return value
        return np.concatenate([value, self.variable.numpy()[-self.num_new_rows :]])


def _list_parts(name, layers):
    """Returns the canonical names of the tensors for a variable; see `load_pretrained`."""
    parts = variables.original_names(name)
    if not layers:
        return parts
    return [_LAYER.sub(lambda match: f"{match[1]}{layers[int(match[2])]}/", part) for part in parts]


def _count_new_rows(source, checkpoint):
    """Returns how many more word embeddings a model has; 0 for other variables of a _Source."""
    if source.name != WORD_EMBEDDINGS:
        return 0
    rows, width = checkpoint.tensors[WORD_EMBEDDINGS].shape
    size, model_width = source.variable.shape.as_list()
    return max(size - rows, 0) if width == model_width else 0


def _check_shapes(source, checkpoint):
    """Raises InputError if a tensor of a _Source has another shape than its variable requires."""
    *rest, last = source.variable.shape.as_list()
    shape = [*rest, last // len(source.parts)]
    shape[0] -= source.num_new_rows
    for part in source.parts:
        stored = checkpoint.tensors[part].shape
        if stored != shape:
            advice = "use the checkpoint's config"
            if source.name == "output_weights":
                advice = f"set `labels_file`, with the names of the {stored[0]} outputs"
            raise InputError(
                f"{checkpoint.path}: {part} has shape {stored} in the checkpoint and {shape} "
                f"in the model; {advice}"
            )


def _check_missing(missing, checkpoint):
    """Raises InputError if a checkpoint lacks variables of the encoder, except the pooler's."""
    needed = [
        name
        for name in missing
        if name.startswith("bert/") and not name.startswith(variables.POOLER)
    ]
    if needed:
        raise InputError(
            f"{checkpoint.path}: the checkpoint lacks {needed[0]} and {len(needed) - 1} more "
            "encoder variables; use the checkpoint's config"
        )


def model_tensors(model):
    """Returns a model's weights, in the form that the `write` functions of formats accept.

    Returns:
      Dict of canonical name to StoredTensor.
    """
    tensors = {}
    for variable in model.variables:
        stored = StoredTensor(variable.shape.as_list(), variable.numpy)
        tensors |= original_tensors(variable.name.removesuffix(":0"), stored)
    return tensors
