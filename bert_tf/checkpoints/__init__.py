"""Checkpoints in: from the original (TF1, by variable name) and from this project's own training runs."""

import dataclasses
import os

import tensorflow as tf

from bert_tf.checkpoints import tf1, training


@dataclasses.dataclass(frozen=True)
class LoadReport:
    """What `load_pretrained` did, in variable names as they stand in the model or in the checkpoint.

    Attributes:
      path: the checkpoint that was read.
      loaded: the model's variables that took their values from it.
      missing: the model's variables that it does not hold, which keep their initial values.
      unused: its tensors that the model has no place for, optimizer state left out.
    """

    path: str
    loaded: tuple[str, ...]
    missing: tuple[str, ...]
    unused: tuple[str, ...]

    def __str__(self):
        text = f"{self.path}: {len(self.loaded)} variables loaded"
        if self.missing:
            text += f"; not in the checkpoint, left as initialised: {', '.join(self.missing)}"
        if self.unused:
            text += f"; in the checkpoint, not used: {', '.join(self.unused)}"
        return text


def load_pretrained(model, path):
    """Gives a model the weights of a checkpoint, matched by variable name.

    Args:
      model: any model of bert_tf.models.
      path: a checkpoint's prefix (`bert_model.ckpt`, `ckpt-1000`) or a folder that holds checkpoints, of
        which the newest is taken. Written by the original or by this project's training loop.

    Returns:
      LoadReport. A task head, or the pooler, that the checkpoint lacks is reported as missing.

    Raises:
      ValueError: no checkpoint at `path`, an encoder variable that it lacks, or a tensor of another shape;
        nothing is loaded then.
    """
    prefix = find_checkpoint(path)
    reader = tf.train.load_checkpoint(prefix)
    source = training.read_tensors(reader) if training.is_training_checkpoint(reader) else tf1.read_tensors(reader)
    assignments, missing, used = [], [], set()
    for variable in model.variables:
        name = variable.name.removesuffix(":0")
        parts = [name] if name in source else tf1.original_names(name)
        if not all(part in source for part in parts):
            missing.append(name)
            continue
        _check_shape(prefix, name, variable.shape, [source[part].shape for part in parts])
        assignments.append((variable, [source[part] for part in parts]))
        used.update(parts)
    _check_encoder(prefix, missing)
    for variable, tensors in assignments:
        variable.assign(tf.concat([tensor.read() for tensor in tensors], axis=-1))
    return LoadReport(
        path=prefix,
        loaded=tuple(variable.name.removesuffix(":0") for variable, _ in assignments),
        missing=tuple(missing),
        unused=tuple(sorted(set(source) - used)),
    )


def find_checkpoint(path):
    """The prefix of the checkpoint at `path`: a prefix itself, or a folder; ValueError if there is none."""
    prefix = path
    if os.path.isdir(path):
        prefix = tf.train.latest_checkpoint(path) or os.path.join(path, "bert_model.ckpt")
    prefix = prefix.removesuffix(".index")
    if not os.path.exists(prefix + ".index"):
        raise ValueError(f"{path}: no checkpoint there (looked for {prefix}.index)")
    return prefix


def _check_shape(prefix, name, shape, part_shapes):
    """Raises ValueError unless the parts, side by side on the last axis, have the variable's shape."""
    together = [*part_shapes[0][:-1], sum(part[-1] for part in part_shapes)]
    if together != shape.as_list() or any(part[:-1] != part_shapes[0][:-1] for part in part_shapes):
        raise ValueError(f"{prefix}: {name} has shape {together} in the checkpoint and {shape.as_list()} in "
                         "the model: the model's config must be the checkpoint's")


def _check_encoder(prefix, missing):
    needed = [name for name in missing if name.startswith("bert/") and not name.startswith("bert/pooler/")]
    if needed:
        raise ValueError(f"{prefix}: the checkpoint has no {needed[0]}, nor {len(needed) - 1} more of the "
                         "encoder's variables: the model's config must be the checkpoint's")
