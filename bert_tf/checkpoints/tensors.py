"""The common representation of all checkpoints: tensors under the original's variable names.

These names are called canonical, for example `bert/encoder/layer_0/attention/self/query/kernel`,
`cls/predictions/output_bias`, and `output_weights`. Each format is a module that reads its files
into a Checkpoint and writes its files from canonical tensors; no other code knows its names and
layout.
"""

import dataclasses
from collections.abc import Callable

import numpy as np

from bert_tf import variables
from bert_tf.errors import InputError

# Beginnings of the names of the encoder and the heads of transformers.
_MODEL_SCOPES = ("bert/", "bert.", "classifier.", "qa_outputs.", "pre_classifier.")
# Beginnings of names that may be unused, and the ends of the names of an optimizer's state.
_LEFTOVERS = ("cls/", "bert/embeddings/position_ids")
_SLOTS = ("/adam_m", "/adam_v", "/lamb_m", "/lamb_v", "/Adam", "/Adam_1", "/m", "/v")


@dataclasses.dataclass(frozen=True)
class StoredTensor:
    """A tensor in a checkpoint, read lazily.

    `load` returns a NumPy array of any float dtype.
    """

    shape: list[int]
    load: Callable[[], np.ndarray]

    def read(self):
        """Returns the value as a float32 array."""
        return np.asarray(self.load(), np.float32)

    def map(self, shape, function):
        """Returns a StoredTensor of a `shape`, whose value is `function` of this value."""
        return StoredTensor(list(shape), lambda: function(self.read()))


def check_weights(path, name, value):
    """Returns a tensor of a file as a float32 array.

    Raises:
      InputError: If it does not consist of finite floating-point numbers, with the path and the
        name of the tensor.
    """
    if value.dtype.kind in "biu":
        raise InputError(
            f"{path}: {name} has type {value.dtype}, but weights must be floating-point numbers; "
            "convert the model to float32"
        )
    value = np.asarray(value, np.float32)
    if not np.isfinite(value).all():
        raise InputError(
            f"{path}: {name} contains numbers that are not finite (NaN or infinity); choose "
            "another checkpoint"
        )
    return value


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """An opened checkpoint."""

    path: str  # Its file, or the common prefix of its files.
    format: str  # Description of its format, for messages.
    # By canonical name. Tensors without a canonical name keep their own.
    tensors: dict[str, StoredTensor]
    # Field of BertConfig -> value: known settings that the shapes of the tensors do not show.
    settings: dict = dataclasses.field(default_factory=dict)
    has_adapters: bool = False  # Whether low-rank adapters were merged into the tensors.


def check_settings(checkpoint, config, owner):
    """Raises InputError if a BertConfig differs in a setting that the checkpoint states or shows.

    `owner`: str. Name of the owner of the config, for the message.
    """
    for name, value in checkpoint.settings.items():
        if getattr(config, name) != value:
            raise InputError(
                f"{checkpoint.path}: {name} is {value!r} in the checkpoint and "
                f"{getattr(config, name)!r} in {owner}"
            )
    if config.tie_word_embeddings and variables.OUTPUT_MATRIX in checkpoint.tensors:
        raise InputError(
            f"{checkpoint.path}: the masked language model has an output matrix that differs from "
            "the word embeddings; set tie_word_embeddings to false in the config"
        )


def check_unused(names, path):
    """Raises InputError if a model without some tensors of a checkpoint computes something else.

    The heads of other tasks, the pooler, and the state of an optimizer may be unused.

    Args:
      names: Canonical names of the tensors that the model does not have, or those of the file.
      path: Path of the checkpoint.
    """
    for name in names:
        is_leftover = name.startswith((*_LEFTOVERS, variables.POOLER)) or name.endswith(_SLOTS)
        if is_leftover or not (name.startswith(_MODEL_SCOPES) or "adapter" in name):
            continue
        raise InputError(
            f"{path}: contains {name}, which the model does not have; set the config of these "
            "weights (num_hidden_layers, for example), or remove what other programs added"
        )


def check_config(checkpoint, config):
    """Raises InputError unless a checkpoint contains exactly the encoder that a config describes.

    It may also contain heads of this project, and what `check_unused` tolerates.
    """
    check_settings(checkpoint, config, "the BERT config")
    shapes = variables.get_shapes(config)
    shapes = {
        name: shape for name, shape in shapes.items() if not name.startswith(variables.POOLER)
    }
    for name, shape in shapes.items():
        if name not in checkpoint.tensors:
            raise InputError(
                f"{checkpoint.path}: the checkpoint has no {name}, which the BERT config requires"
            )
        if checkpoint.tensors[name].shape != shape:
            raise InputError(
                f"{checkpoint.path}: {name} has shape {checkpoint.tensors[name].shape} in the "
                f"checkpoint and {shape} in the BERT config"
            )
    check_unused(sorted(checkpoint.tensors.keys() - shapes), checkpoint.path)


def original_tensors(name, tensor):
    """Splits a StoredTensor of this project into the original's tensors.

    Returns:
      Dict of canonical name to StoredTensor.
    """
    names = variables.original_names(name)
    if len(names) == 1:
        return {name: tensor}
    width = tensor.shape[-1] // len(names)
    shape = [*tensor.shape[:-1], width]
    return {
        part: tensor.map(
            shape, lambda value, start=number * width: value[..., start : start + width]
        )
        for number, part in enumerate(names)
    }
