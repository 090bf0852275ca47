"""A longer position table for a checkpoint, so that the model takes longer texts and can be trained on with them."""

import dataclasses
import functools

import numpy as np

from bert_tf.checkpoints.tensors import POSITION_EMBEDDINGS
from bert_tf.errors import InputError

EXTENSIONS = ("repeat", "interpolate")


def extended(checkpoint, config, length, extension="repeat"):
    """A Checkpoint and its BertConfig with more positions.

    Args:
      checkpoint: Checkpoint that `config` describes.
      config: BertConfig.
      length: int, rows of the new table.
      extension: "repeat": the table's rows from the first on again after its last, as Longformer begins with (Beltagy
        et al. 2020, section 5): the first positions stay what they are. "interpolate": rows on the straight lines
        between those of the table, whose first and last stay: what is learned of distances is stretched.

    Returns:
      (Checkpoint, BertConfig).

    Raises:
      InputError: the table has so many rows already, or no such extension.
    """
    rows = config.max_position_embeddings
    if extension not in EXTENSIONS:
        raise InputError(f"`position_extension`={extension}: it must be one of {', '.join(EXTENSIONS)}")
    if length <= rows:
        raise InputError(f"`max_position_embeddings`={length}: the model has {rows} positions; a table can only be "
                         "extended")
    config = dataclasses.replace(config, max_position_embeddings=length)
    table = checkpoint.tensors[POSITION_EMBEDDINGS]
    extend = functools.partial({"repeat": _repeated, "interpolate": _interpolated}[extension], length=length)
    tensors = {**checkpoint.tensors, POSITION_EMBEDDINGS: table.map([length, table.shape[1]], extend)}
    return dataclasses.replace(checkpoint, tensors=tensors, config=checkpoint.config and config), config


def _repeated(table, length):
    return table[np.arange(length) % len(table)]


def _interpolated(table, length):
    places = np.linspace(0, len(table) - 1, length)
    lower = np.minimum(places.astype(np.int64), len(table) - 2) if len(table) > 1 else np.zeros(length, np.int64)
    share = (places - lower)[:, np.newaxis]
    return ((1 - share) * table[lower] + share * table[np.minimum(lower + 1, len(table) - 1)]).astype(np.float32)
