"""Extends the position embeddings of a checkpoint, so that a model accepts, and can be trained on, longer texts."""

import dataclasses
import functools

import numpy as np

from bert_tf.errors import InputError
from bert_tf.variables import POSITION_EMBEDDINGS

EXTENSIONS = ("repeat", "interpolate")


def extend_positions(checkpoint, config, length, extension="repeat"):
    """Returns a Checkpoint and its BertConfig with more position embeddings.

    Args:
      checkpoint: Checkpoint that `config` describes.
      config: BertConfig.
      length: int. New number of position embeddings.
      extension: str. "repeat" appends the embeddings again, starting with the first, as in the initialization of
        Longformer (Beltagy et al. 2020, section 5); existing positions are unchanged. "interpolate" interpolates
        linearly between the embeddings and keeps the first and the last one, so that learned distances are stretched.

    Returns:
      Tuple `(Checkpoint, BertConfig)`.

    Raises:
      InputError: If there are already as many position embeddings, or if the extension is unknown.
    """
    rows = config.max_position_embeddings
    if extension not in EXTENSIONS:
        raise InputError(f"`position_extension`={extension}: must be one of {', '.join(EXTENSIONS)}")
    if length <= rows:
        raise InputError(f"`max_position_embeddings`={length}: must be greater than {rows}, the number of "
                         "position embeddings of the model")
    config = dataclasses.replace(config, max_position_embeddings=length)
    table = checkpoint.tensors[POSITION_EMBEDDINGS]
    extend = functools.partial({"repeat": _repeat, "interpolate": _interpolate}[extension], length=length)
    tensors = {**checkpoint.tensors, POSITION_EMBEDDINGS: table.map([length, table.shape[1]], extend)}
    return dataclasses.replace(checkpoint, tensors=tensors, config=checkpoint.config and config), config


def _repeat(table, length):
    return table[np.arange(length) % len(table)]


def _interpolate(table, length):
    positions = np.linspace(0, len(table) - 1, length)
    lower = np.minimum(positions.astype(np.int64), len(table) - 2) if len(table) > 1 else np.zeros(length, np.int64)
    share = (positions - lower)[:, np.newaxis]
    return ((1 - share) * table[lower] + share * table[np.minimum(lower + 1, len(table) - 1)]).astype(np.float32)
