"""The common representation of all checkpoints: tensors under the original's variable names.

These names are called canonical, for example `bert/encoder/layer_0/attention/self/query/kernel`,
`cls/predictions/output_bias`, and `output_weights`. Each format is a module that reads its files into a Checkpoint and
writes its files from canonical tensors; no other code knows its names and layout.
"""

import dataclasses
from collections.abc import Callable

import numpy as np

from bert_tf.config import BertConfig
from bert_tf.errors import InputError

WORD_EMBEDDINGS = "bert/embeddings/word_embeddings"
POSITION_EMBEDDINGS = "bert/embeddings/position_embeddings"
TOKEN_TYPE_EMBEDDINGS = "bert/embeddings/token_type_embeddings"
EMBEDDING_PROJECTION = "bert/embeddings/embedding_projection"  # For factorized word embeddings.
EMBEDDING_PROJECTION_BIAS = "bert/embeddings/embedding_projection_bias"  # For the projection of the sum.
NEXT_SENTENCE = "cls/seq_relationship/"


@dataclasses.dataclass(frozen=True)
class StoredTensor:
    """A tensor in a checkpoint, read lazily.

    Attributes:
      shape: List of int.
      load: Function without arguments that returns the value as a NumPy array of any float dtype.
    """

    shape: list[int]
    load: Callable[[], np.ndarray]

    def read(self):
        """Returns the value as a float32 array."""
        return np.asarray(self.load(), np.float32)

    def map(self, shape, function):
        """Returns the StoredTensor of this `shape` whose value is `function` of this tensor's value."""
        return StoredTensor(list(shape), lambda: function(self.read()))


def check_weights(path, name, value):
    """Returns a tensor of a file as a float32 array.

    Raises:
      InputError: If it does not consist of finite floating-point numbers, with the path and the name of the tensor.
    """
    if value.dtype.kind in "biu":
        raise InputError(f"{path}: {name} has type {value.dtype}, but weights must be floating-point numbers; convert "
                         "the model to float32")
    value = np.asarray(value, np.float32)
    if not np.isfinite(value).all():
        raise InputError(f"{path}: {name} contains numbers that are not finite (NaN or infinity); choose another "
                         "checkpoint")
    return value


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """An opened checkpoint.

    Attributes:
      path: str. Its file, or the common prefix of its files.
      kind: str. Description of the format.
      tensors: Dict of canonical name to StoredTensor. Tensors without a canonical name keep their own.
      config: BertConfig that is stored with it, or None.
      settings: Dict of field of BertConfig to value. Known settings that the shapes of the tensors do not show.
    """

    path: str
    kind: str
    tensors: dict[str, StoredTensor]
    config: BertConfig | None = None
    settings: dict = dataclasses.field(default_factory=dict)


def encoder_shapes(config):
    """Returns the tensors of the encoder without the pooler: dict of canonical name to shape."""
    width = config.hidden_size
    shapes = {
        WORD_EMBEDDINGS: [config.vocab_size, config.embedding_size or width],
        POSITION_EMBEDDINGS: [config.max_position_embeddings, config.embedding_width],
        **_layer_norm("bert/embeddings", config.embedding_width),
    }
    if config.type_vocab_size:
        shapes[TOKEN_TYPE_EMBEDDINGS] = [config.type_vocab_size, config.embedding_width]
    if config.embedding_size:
        shapes[EMBEDDING_PROJECTION] = [config.embedding_size, width]
    if config.project_embedding_sum:
        shapes[EMBEDDING_PROJECTION_BIAS] = [width]
    for number, (heads, inner) in enumerate(config.layer_sizes[: config.num_hidden_groups]):
        layer = f"bert/encoder/layer_{number}"
        context = heads * config.head_width
        for part in ("query", "key", "value"):
            shapes |= _dense(f"{layer}/attention/self/{part}", width, context)
        shapes |= _dense(f"{layer}/attention/output/dense", context, width)
        shapes |= _layer_norm(f"{layer}/attention/output", width)
        shapes |= _dense(f"{layer}/intermediate/dense", width, inner)
        shapes |= _dense(f"{layer}/output/dense", inner, width)
        shapes |= _layer_norm(f"{layer}/output", width)
    return shapes


def check_config(checkpoint, config):
    """Raises InputError unless a checkpoint contains the encoder that a config describes."""
    for name, value in checkpoint.settings.items():
        if getattr(config, name) != value:
            raise InputError(f"{checkpoint.path}: {name} is {value!r} in the checkpoint and {getattr(config, name)!r} "
                             "in the BERT config")
    shapes = encoder_shapes(config)
    for name, shape in shapes.items():
        if name not in checkpoint.tensors:
            raise InputError(f"{checkpoint.path}: the checkpoint has no {name}, which the BERT config requires")
        if checkpoint.tensors[name].shape != shape:
            raise InputError(f"{checkpoint.path}: {name} has shape {checkpoint.tensors[name].shape} in the checkpoint "
                             f"and {shape} in the BERT config")
    further = sorted(name for name in checkpoint.tensors if name.startswith("bert/encoder/") and name not in shapes)
    if further:
        raise InputError(f"{checkpoint.path}: the checkpoint contains {further[0]}, but the BERT config has "
                         f"num_hidden_layers {config.num_hidden_layers}")
    for name, setting in ((EMBEDDING_PROJECTION, "embedding_size"), (TOKEN_TYPE_EMBEDDINGS, "type_vocab_size"),
                          (EMBEDDING_PROJECTION_BIAS, "project_embedding_sum")):
        if name in checkpoint.tensors and name not in shapes:
            raise InputError(f"{checkpoint.path}: the checkpoint contains {name}, but the BERT config has no {setting}")


def _dense(name, inputs, outputs):
    return {f"{name}/kernel": [inputs, outputs], f"{name}/bias": [outputs]}


def _layer_norm(scope, width):
    return {f"{scope}/LayerNorm/gamma": [width], f"{scope}/LayerNorm/beta": [width]}
