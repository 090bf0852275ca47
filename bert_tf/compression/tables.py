"""A smaller word table: factorised into two matrices, or without the pieces that texts do not use.

On small models it is most of the weights. Shape legend: V vocabulary, H hidden, E width of the factorised table.
"""

import dataclasses

import numpy as np

from bert_tf.checkpoints.tensors import EMBEDDING_PROJECTION, WORD_EMBEDDINGS, StoredTensor
from bert_tf.errors import InputError

BY_PIECE = (WORD_EMBEDDINGS, "cls/predictions/output_bias")  # tensors with a row for each piece


def factorise(tensors, config, size):
    """A model whose word table [V, H] is a product [V, E] [E, H]: the nearest there is, by its singular values.

    Both factors take the square root of the singular values, so that neither learns faster than the other.

    Args:
      tensors: {canonical name: StoredTensor} of the model.
      config: its BertConfig.
      size: E.

    Returns:
      Such a dict, its BertConfig, and the share of the table's squared length that the product has.

    Raises:
      InputError: E is not below H, or the table is a product already.
    """
    if config.embedding_size:
        raise InputError(f"`embedding_size`={size}: the word table of the model is factorised already, to "
                         f"{config.embedding_size}")
    if not 1 <= size < config.hidden_size:
        raise InputError(f"`embedding_size`={size}: it must be at least 1 and below hidden_size, {config.hidden_size}")
    table = tensors[WORD_EMBEDDINGS].read().astype(np.float64)
    # Of [H, H] in place of [V, H]: the singular values' squares and the right singular vectors, in ascending order.
    squares, vectors = np.linalg.eigh(table.T @ table)
    squares, vectors = np.maximum(squares[::-1], 0), vectors[:, ::-1][:, :size]
    root = np.maximum(squares[:size], squares[0] * 1e-12) ** 0.25
    factors = {WORD_EMBEDDINGS: table @ (vectors / root), EMBEDDING_PROJECTION: (vectors * root).T}
    stored = {name: _stored(np.ascontiguousarray(value, np.float32)) for name, value in factors.items()}
    return tensors | stored, dataclasses.replace(config, embedding_size=size), squares[:size].sum() / squares.sum()


def keep_pieces(tensors, config, ids):
    """A model of a smaller vocabulary.

    Args:
      tensors, config: as factorise's.
      ids: of the pieces that stay, in the order of the new vocabulary: int [n].

    Returns:
      Such a dict, and its BertConfig.
    """
    ids = np.asarray(ids)
    smaller = {name: tensors[name].map([len(ids), *tensors[name].shape[1:]], lambda value: value[ids])
               for name in BY_PIECE if name in tensors}
    return tensors | smaller, dataclasses.replace(config, vocab_size=len(ids))


def _stored(value):
    return StoredTensor(list(value.shape), lambda: value)
