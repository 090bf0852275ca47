"""Opens checkpoints of any format, and loads their weights into a model.

Weights and variables are matched by the original's variable names.
"""

import dataclasses
import re
import typing

import numpy as np
import tensorflow as tf

from bert_tf import variables
from bert_tf.checkpoints import adapters
from bert_tf.checkpoints.directory import ModelDirectory
from bert_tf.checkpoints.tensors import (
    StoredTensor,
    check_settings,
    check_unused,
    original_tensors,
)
from bert_tf.errors import InputError

_LAYER = re.compile(r"^(bert/encoder/layer_)(\d+)/")
HEAD = ("output_weights", "output_bias")  # Variables with one row per label.


def open_checkpoint(path):
    """Detects the format of a checkpoint and opens it.

    Args:
      path: Prefix of a TensorFlow checkpoint (`bert_model.ckpt`, `ckpt-1000`) of the original, this
        project's training loop, or tf-models-official, or one of its files; a .safetensors file of
        Hugging Face, or the .safetensors.index.json of several; or a directory that contains one of
        these, or a SavedModel of an encoder of tf-models-official. For a training run, this is the
        latest checkpoint. Or its ModelDirectory.

    Returns:
      bert_tf.checkpoints.tensors.Checkpoint, which reads its tensors lazily.

    Raises:
      InputError: If there is no checkpoint, if there are two of different formats, or if it is not
        a BERT checkpoint.
    """
    return ModelDirectory.open(path).checkpoint


def holds_adapters(path):
    """Returns whether a checkpoint is from a training run with adapters.

    See `open_checkpoint`, which merges them.
    """
    return open_checkpoint(path).has_adapters


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


def load_pretrained(model, path, *, leave=(), layers=(), adds_tokens=False, output_order=()):
    """Loads a checkpoint into a model, matched by the original's variable names.

    Args:
      model: Any model of bert_tf.models.
      path: See `open_checkpoint`.
      leave: Names of variables that keep the model's initial values in any case.
      layers: For each encoder layer of the model, index of the checkpoint's layer to load; () for
        the same index.
      adds_tokens: bool. Whether the model may have more word embeddings than the checkpoint; those
        after the checkpoint's keep their initial values.
      output_order: For each output of the model's head, index of the output to load; ()
        for the same index.

    Returns:
      LoadReport. A task head or pooler that the checkpoint lacks is reported as missing.

    Raises:
      InputError: If there is no supported checkpoint at `path`, if it lacks an encoder variable, or
        if a shape, or a known activation or number of heads, differs, or if it contains tensors of
        an encoder or a head that no model of this project has. Then, nothing is loaded.
    """
    checkpoint = open_checkpoint(path)
    sources = _match_variables(model, leave, layers)
    if adds_tokens:
        sources = [_add_new_rows(source, checkpoint) for source in sources]
    sources = [_reorder_outputs(source, output_order) for source in sources]
    missing = _check_sources(sources, checkpoint, getattr(model, "encoder", model).config)
    loaded = [source for source in sources if source.name not in missing]
    used = {part for source in loaded for part in source.parts}
    unused = [
        name for name in checkpoint.tensors.keys() - used if not (layers and _LAYER.match(name))
    ]
    check_unused(sorted(set(unused) - {*leave}), checkpoint.path)
    _assign_values(loaded, checkpoint)
    return LoadReport(
        path=checkpoint.path,
        loaded=tuple(source.name for source in loaded),
        missing=tuple(missing),
        unused=tuple(sorted(unused)),
        num_added_tokens=sum(source.num_new_rows for source in loaded),
    )


class _Source(typing.NamedTuple):
    """The tensors of a checkpoint for a variable of a model."""

    variable: tf.Variable
    name: str  # Name of the variable.
    parts: list[str]  # Canonical names of the tensors, which are concatenated on the last axis.
    num_new_rows: int = 0  # Last rows of the variable, which the tensors lack.
    order: tuple[int, ...] = ()  # Index of the tensor's row for each row; () for the same.

    def read(self, checkpoint):
        """Returns the value of the variable, with its initial values of new rows."""
        value = np.concatenate([checkpoint.tensors[part].read() for part in self.parts], axis=-1)
        if self.order:
            value = value[list(self.order)]
        if not self.num_new_rows:
            return value
        return np.concatenate([value, self.variable.numpy()[-self.num_new_rows :]])


def _match_variables(model, leave, layers):
    """Returns the _Source of each variable of a model; see `load_pretrained`."""
    sources = []
    for variable in model.variables:
        name = variable.name.removesuffix(":0")
        # A checkpoint contains no adapters after they were merged.
        if name not in leave and not adapters.is_adapter(name):
            sources.append(_Source(variable, name, _list_parts(name, layers)))
    return sources


def _list_parts(name, layers):
    """Returns the canonical names of the tensors for a variable; see `load_pretrained`."""
    parts = variables.original_names(name)
    if not layers:
        return parts
    return [_LAYER.sub(lambda match: f"{match[1]}{layers[int(match[2])]}/", part) for part in parts]


def _add_new_rows(source, checkpoint):
    """Returns a _Source with the number of word embeddings after those of a checkpoint."""
    stored = checkpoint.tensors.get(variables.WORD_EMBEDDINGS)
    if source.name != variables.WORD_EMBEDDINGS or stored is None:
        return source
    rows, width = stored.shape
    size, model_width = source.variable.shape.as_list()
    return source._replace(num_new_rows=max(size - rows, 0) if width == model_width else 0)


def _reorder_outputs(source, order):
    """Returns a _Source with the order of its rows if its variable is part of the head."""
    return source._replace(order=order) if source.name in HEAD else source


def _check_sources(sources, checkpoint, config):
    """Returns the names of the variables that a checkpoint lacks, a list of str.

    Raises InputError if it lacks a variable of the encoder, or if a shape or a setting differs from
    the model with this BertConfig.
    """
    check_settings(checkpoint, config, "the model; use the checkpoint's config")
    missing = []
    for source in sources:
        if all(part in checkpoint.tensors for part in source.parts):
            _check_shapes(source, checkpoint)
        else:
            missing.append(source.name)
    _check_missing(missing, checkpoint)
    return missing


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


def _assign_values(sources, checkpoint):
    """Assigns the tensors of a checkpoint to the variables of _Sources."""
    # Read everything before assigning anything, since a file could be corrupted.
    values = [source.read(checkpoint) for source in sources]
    for source, value in zip(sources, values, strict=True):
        source.variable.assign(value)


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
