"""Loads weights of a checkpoint into a model, matched by the original's variable names, and reads a model's weights."""

import dataclasses
import re

import numpy as np

from bert_tf import variables
from bert_tf.checkpoints import adapters
from bert_tf.checkpoints.detection import open_checkpoint
from bert_tf.checkpoints.tensors import StoredTensor, check_settings, original_tensors
from bert_tf.errors import InputError

# Advice if a matrix of the checkpoint and of the model differ in the number of rows.
ROW_ADVICE = {
    variables.POSITION_EMBEDDINGS:
        "set max_position_embeddings to {rows} in the model's config; shorter sequences do not require fewer, and the "
        "checkpoint has none for longer ones",
    variables.TOKEN_TYPE_EMBEDDINGS: "set type_vocab_size to {rows} in the model's config",
    **dict.fromkeys((variables.WORD_EMBEDDINGS, variables.OUTPUT_BIAS),
                    "set vocab_size to {rows} in the model's config, and use the checkpoint's vocabulary"),
}
_LAYER = re.compile(r"^(bert/encoder/layer_)(\d+)/")


@dataclasses.dataclass(frozen=True)
class LoadReport:
    """Result of `load_pretrained`, with variable names of the model or the checkpoint.

    Attributes:
      path: str. Path of the checkpoint.
      loaded: Variables of the model that were loaded.
      missing: Variables of the model that the checkpoint lacks; they keep their initial values.
      unused: Canonical names of tensors in the checkpoint that the model lacks, without optimizer state and layers that
        were not requested.
      left: Variables of the model that kept their initial values on request.
    """

    path: str
    loaded: tuple[str, ...]
    missing: tuple[str, ...]
    unused: tuple[str, ...]
    left: tuple[str, ...] = ()

    def __str__(self):
        notes = {"initial values kept": self.left,
                 "not in the checkpoint, initial values kept": self.missing,
                 "in the checkpoint, not used": self.unused}
        return f"{self.path}: {len(self.loaded)} variables loaded" + "".join(
            f"; {note}: {', '.join(names)}" for note, names in notes.items() if names)


def load_pretrained(model, path, *, leave=(), layers=()):
    """Loads a checkpoint into a model, matched by the original's variable names.

    Args:
      model: Any model of bert_tf.models.
      path: See `open_checkpoint`.
      leave: Names of variables that keep the model's initial values in any case.
      layers: For each encoder layer of the model, index of the checkpoint's layer to load; () for the same index.

    Returns:
      LoadReport. A task head or pooler that the checkpoint lacks is reported as missing.

    Raises:
      InputError: If there is no supported checkpoint at `path`, if it lacks an encoder variable, or if a shape, or a
        known activation or number of heads, differs. Then, nothing is loaded.
    """
    checkpoint = open_checkpoint(path)
    check_settings(checkpoint, getattr(model, "encoder", model).config, "the model; use the checkpoint's config")
    sources, missing, left, used = [], [], [], set()
    for variable in model.variables:
        name = variable.name.removesuffix(":0")
        if adapters.is_adapter(name):  # never in a checkpoint as it is read
            continue
        if name in leave:
            left.append(name)
            continue
        parts = [_map_layer(part, layers) for part in variables.original_names(name)]
        if not all(part in checkpoint.tensors for part in parts):
            missing.append(name)
            continue
        shape = _shape_together(checkpoint, parts)
        if shape != variable.shape.as_list():
            raise InputError(_mismatch(checkpoint.path, name, shape, variable.shape.as_list()))
        sources.append((variable, [checkpoint.tensors[part] for part in parts]))
        used.update(parts)
    needed = [name for name in missing if name.startswith("bert/") and not name.startswith(variables.POOLER)]
    if needed:
        raise InputError(f"{checkpoint.path}: the checkpoint lacks {needed[0]} and {len(needed) - 1} more encoder "
                         "variables; use the checkpoint's config")
    # Read everything before assigning anything, since a file could be corrupted.
    values = [np.concatenate([tensor.read() for tensor in tensors], axis=-1) for _, tensors in sources]
    for (variable, _), value in zip(sources, values, strict=True):
        variable.assign(value)
    return LoadReport(
        path=checkpoint.path,
        loaded=tuple(variable.name.removesuffix(":0") for variable, _ in sources),
        missing=tuple(missing),
        unused=tuple(sorted(name for name in set(checkpoint.tensors) - used
                            if not (layers and _LAYER.match(name)))),
        left=tuple(left),
    )


def _map_layer(name, layers):
    """Returns the checkpoint's name of a variable in a layer that `layers` maps; other names are unchanged."""
    return _LAYER.sub(lambda match: f"{match[1]}{layers[int(match[2])]}/", name) if layers else name


def model_tensors(model):
    """Returns a model's weights for the `write` function of a format: dict of canonical name to StoredTensor."""
    tensors = {}
    for variable in model.variables:
        stored = StoredTensor(variable.shape.as_list(), variable.numpy)
        tensors |= original_tensors(variable.name.removesuffix(":0"), stored)
    return tensors


def _shape_together(checkpoint, parts):
    """Returns the shape of the parts concatenated on the last axis; raises InputError if they do not match."""
    shapes = [checkpoint.tensors[part].shape for part in parts]
    if [] in shapes:
        raise InputError(f"{checkpoint.path}: {parts[shapes.index([])]} is a scalar in the checkpoint, but models "
                         "have no scalar variables")
    if any(shape[:-1] != shapes[0][:-1] for shape in shapes):
        raise InputError(f"{checkpoint.path}: {parts[0]} has shape {shapes[0]}, but {parts[-1]} has shape {shapes[-1]}")
    return [*shapes[0][:-1], sum(shape[-1] for shape in shapes)]


def _mismatch(path, name, stored, shape):
    """Returns the message for a variable whose shape in the checkpoint, `stored`, differs from the model's."""
    advice = "use the checkpoint's config"
    if stored[1:] == shape[1:] and name in ROW_ADVICE:
        advice = ROW_ADVICE[name].format(rows=stored[0])
    return f"{path}: {name} has shape {stored} in the checkpoint and {shape} in the model; {advice}"
