"""The operations that layers use, separate from their weights.

Layers call an `Arithmetic` and arrange tokens with a `Layout`. This module has the plain ones; bert_tf.fast has others
that compute the same numbers with other operations.

Shape legend: B batch, S sequence, T tokens, W width of any kind, H hidden, N heads, D head width, V vocabulary.
"""

import collections
import math

import tensorflow as tf

from bert_tf.saved_objects import SavedObject

AttentionMaps = collections.namedtuple("AttentionMaps", ["scores", "probabilities"])
AttentionMaps.__doc__ = """The attention scores and probabilities of one layer, [B, N, S, S] each, before dropout.

Scores are those before the mask and the softmax; those of padding have no meaning.
"""


class Layout:
    """The arrangement of a batch's tokens: every position is a token, T = B * S.

    Args:
      input_mask: int32 [B, S], 0 at padding.

    Attributes:
      batch_size, sequence_length: B and S, int if known statically, otherwise an int32 scalar.
    """

    def __init__(self, input_mask):
        self.batch_size, self.sequence_length = map(_size, input_mask.shape, tf.unstack(tf.shape(input_mask)))

    @staticmethod
    def tokens(x):
        """[B, S, ...] -> [T, W], with the axes after S flattened."""
        return tf.reshape(x, [-1, math.prod(x.shape[2:])])

    def sequences(self, x):
        """[T, W] -> [B, S, W]."""
        return tf.reshape(x, [self.batch_size, self.sequence_length, x.shape[-1]])

    def drop(self, dropout, x, seed):
        """Draws a Drop from a SeededDropout for x [T, W] and seed int [2]; returns None without a seed."""
        return None if seed is None else self.draw(dropout, tf.shape(x), seed)

    def draw(self, dropout, shape, seed):
        """Draws a Drop from a SeededDropout for a tensor of `shape`, int [rank], with seed int [2]."""
        return dropout.draw(shape, seed)


def _size(known, size):
    """Returns a dimension of a tensor: int if it is known statically, otherwise a tensor."""
    return size if known is None else known


class Arithmetic(SavedObject):
    """The operations of layers. An object has no weights and no state.

    Attributes:
      needs_kernels: bool. Whether it multiplies by `Hook.kernel` instead of calling `Hook.product`.
    """

    needs_kernels = False

    def look_up(self, ids, table):
        """ids int32 [...], table [V, W] -> rows [..., W]."""
        # Read the table as a tensor: TensorFlow copies a variable at each read once a gather has used it directly.
        return tf.gather(tf.convert_to_tensor(table), ids)

    def heads(self, attention, x, layout):
        """Computes the query, key, and value of a SelfAttention.

        Args:
          attention: SelfAttention.
          x: [T, H].
          layout: Layout.

        Returns:
          Three tensors [B, N, S, D].
        """
        return attention.split_heads(layout.sequences(attention.qkv(x)), layout)

    def attend(self, query, key, value, bias, drop):
        """Computes scaled dot-product attention.

        Args:
          query, key, value: [B, N, S, D].
          bias: float32 [B, 1, 1, S] or [B, 1, S, S], added to the scores.
          drop: Drop for the probabilities; None when not training.

        Returns:
          Context [B, S, N, D] and AttentionMaps.
        """
        scores = tf.matmul(query * query.shape[-1]**-0.5, key, transpose_b=True)
        probabilities = self.softmax(scores, bias, drop is not None)
        dropped = probabilities if drop is None else drop(probabilities)
        return tf.transpose(tf.matmul(dropped, value), [0, 2, 1, 3]), AttentionMaps(scores, probabilities)

    def join_heads(self, projection, context, tokens):
        """Applies a Projection to the heads' outputs, [B, S, N, D] -> [T, H]; `tokens` is a Layout's method."""
        return projection(tokens(context))

    def softmax(self, scores, bias, training):
        """scores [B, N, S, S], with a float32 bias added -> probabilities of the same dtype, computed in float32."""
        del training
        return tf.cast(tf.nn.softmax(tf.cast(scores, tf.float32) + bias), scores.dtype)

    def activate(self, projection, x, training):
        """Applies a Projection and its activation to x [T, H]."""
        del training
        return projection(x)

    def add_and_normalize(self, y, x, norm, drop):
        """Returns norm(drop(y) + x), all [T, H]; `drop` is a Drop, or None when not training."""
        return norm((y if drop is None else drop(y)) + x)

    def score_vocabulary(self, x, table, projection, bias):
        """Scores every vocabulary entry.

        Args:
          x: [T, H].
          table: word embeddings [V, H], or [V, E] if factorized.
          projection: [E, H] of factorized word embeddings; None otherwise.
          bias: [V].

        Returns:
          Logits float32 [T, V].
        """
        if projection is not None:
            x = tf.matmul(x, tf.cast(projection, x.dtype), transpose_b=True)  # [T, E]
        table, bias = tf.cast(table, x.dtype), tf.cast(bias, x.dtype)
        return tf.cast(tf.nn.bias_add(tf.matmul(x, table, transpose_b=True), bias), tf.float32)
