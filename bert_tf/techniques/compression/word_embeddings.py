"""Smaller word embeddings: factorized into two matrices, or without unused tokens.

In small models, they are most of the weights. Shape legend: V vocabulary, H hidden, FA columns of
the factorized matrix.
"""

import dataclasses
import functools
import typing

import numpy as np

from bert_tf.checkpoints.tensors import StoredTensor
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.variables import (
    EMBEDDING_PROJECTION,
    OUTPUT_BIAS,
    OUTPUT_MATRIX,
    WORD_EMBEDDINGS,
)

# Tensors with one row per token of the vocabulary.
BY_PIECE = (WORD_EMBEDDINGS, OUTPUT_BIAS, OUTPUT_MATRIX)


class FactorizedModel(typing.NamedTuple):
    """A model whose word embedding matrix was factorized.

    Attributes:
      tensors: Dict of canonical name to StoredTensor.
      config: BertConfig.
      fraction: float. Fraction of the squared norm of the matrix that the approximation has.
    """

    tensors: dict[str, StoredTensor]
    config: BertConfig
    fraction: float


def factorize(tensors, config, size):
    """Factorizes the word embedding matrix [V, H] into [V, FA] [FA, H] by its singular values.

    The product is the best approximation of rank FA. Both factors are scaled by the square roots of
    the singular values, so that neither learns faster than the other. Unlike in ALBERT, the product
    has no bias, and the transform of the masked LM keeps H columns, so that one factorization fits
    the embeddings and the scores.

    Args:
      tensors: Dict of canonical name to StoredTensor.
      config: BertConfig of the model.
      size: int, FA.

    Returns:
      FactorizedModel.

    Raises:
      InputError: If FA is not below H, or if the matrix is already factorized.
    """
    if config.embedding_size:
        raise InputError(
            "the word embeddings of the model are already factorized, to size "
            f"{config.embedding_size}",
            "embedding_size",
            size,
        )
    if not 1 <= size < config.hidden_size:
        raise InputError(
            f"must be at least 1 and less than hidden_size, {config.hidden_size}",
            "embedding_size",
            size,
        )
    table = tensors[WORD_EMBEDDINGS].read().astype(np.float64)
    # Uses [H, H] instead of [V, H]: squares of the singular values and right singular vectors, in
    # ascending order.
    squares, vectors = np.linalg.eigh(table.T @ table)
    squares = np.maximum(squares[::-1], 0)
    vectors = vectors[:, ::-1][:, :size]
    root = np.maximum(squares[:size], squares[0] * 1e-12) ** 0.25
    factors = {WORD_EMBEDDINGS: table @ (vectors / root), EMBEDDING_PROJECTION: (vectors * root).T}
    stored = {
        name: StoredTensor(
            list(value.shape), functools.partial(np.ascontiguousarray, value, np.float32)
        )
        for name, value in factors.items()
    }
    return FactorizedModel(
        tensors=tensors | stored,
        config=dataclasses.replace(config, embedding_size=size),
        fraction=squares[:size].sum() / squares.sum(),
    )


def keep_pieces(tensors, config, ids):
    """Reduces the vocabulary of a model to the tokens with int [n] `ids`, in this order.

    See `factorize`.

    Returns:
      Tuple `(tensors, config)` of the smaller model.
    """
    ids = np.asarray(ids)
    smaller = {
        name: tensors[name].map([len(ids), *tensors[name].shape[1:]], lambda value: value[ids])
        for name in BY_PIECE
        if name in tensors
    }
    return tensors | smaller, dataclasses.replace(config, vocab_size=len(ids))
