"""Arithmetic for all devices: the plain numbers by operations that save memory, casts, or padding.

Shape legend: B batch, S sequence, P positions, T tokens, H hidden, N heads, D head width, V vocabulary.
"""

import tensorflow as tf

from bert_tf.layers import Arithmetic


class FastArithmetic(Arithmetic):
    """See Arithmetic.

    Args:
      one_hot: bool. Look words up by a matrix multiplication with one-hot vectors, which suits a TPU.
      vocabulary_multiple: int. The product with the word embedding matrix is computed for this multiple of rows, the
        rest zeros, which are removed from the result. A GPU's matrix units need rows of 16 bytes: multiples of 8 in
        16 bits.
      float32_scores: bool. Under mixed precision, compute that product in float32: for few positions, as in serving,
        this avoids a cast of the matrix and the rounding of the scores.

    Attributes:
      draws_for_all: bool. Whether a layer computed at some positions draws dropout for all, so that its masks there
        equal the masks of the complete layer.
    """

    draws_for_all = True

    def __init__(self, one_hot=False, vocabulary_multiple=1, float32_scores=False):
        self._one_hot = one_hot
        self._vocabulary_multiple = vocabulary_multiple
        self._float32_scores = float32_scores

    def look_up(self, ids, table):
        """See Arithmetic."""
        if not self._one_hot:
            return super().look_up(ids, table)
        return tf.matmul(tf.one_hot(ids, table.shape[0]), table)

    def heads(self, attention, x, layout):
        """See Arithmetic."""
        return attention.split_heads(layout.spread(attention.qkv(x)), layout)

    def query_at(self, query, positions):
        """Returns a query from `heads` at positions int32 [B, P]."""
        return rows_at(tf.reshape(query, [-1, query.shape[-1]]), tf.shape(query)[:2], positions[:, tf.newaxis])

    def rows_at(self, x, positions):
        """x [B, S, W], positions int32 [B, P] -> [B, P, W]."""
        return rows_at(tf.reshape(x, [-1, x.shape[-1]]), tf.shape(positions)[:1], positions)

    def softmax(self, scores, bias, training):
        """See Arithmetic. In 16 bits, the gradient keeps the probabilities in 16 bits only.

        TensorFlow's gradient would also keep them in float32, the largest tensor of all that a long sequence keeps.
        """
        if scores.dtype == tf.float32 or not training:
            return super().softmax(scores, bias, training)

        @tf.custom_gradient
        def compute(scores):
            probabilities = super(FastArithmetic, self).softmax(scores, bias, training)

            def gradient(upstream):
                kept, upstream = tf.cast(probabilities, tf.float32), tf.cast(upstream, tf.float32)
                product = kept * upstream
                return tf.cast(product - kept * tf.reduce_sum(product, axis=-1, keepdims=True), scores.dtype)
            return probabilities, gradient
        return compute(scores)

    def score_vocabulary(self, x, table, projection, bias):
        """See Arithmetic."""
        if self._float32_scores:
            x = tf.cast(x, tf.float32)
        size = table.shape[0]
        padding = -size % self._vocabulary_multiple
        if not padding:
            return super().score_vocabulary(x, table, projection, bias)
        table, bias = tf.cast(table, x.dtype), tf.cast(bias, x.dtype)
        table, bias = tf.pad(table, [[0, padding], [0, 0]]), tf.pad(bias, [[0, padding]])
        return tf.slice(super().score_vocabulary(x, table, projection, bias), [0, 0], [-1, size])


def rows_at(rows, sizes, positions):
    """Gathers rows at some positions of consecutive sequences.

    `tf.gather` with batch_dims returns the same. With its gradient it takes 122 operations of a graph, and this 41.

    Args:
      rows: [n * S, W], n sequences of S positions.
      sizes: int32 [k], n as it is laid out in k axes.
      positions: int32 [..., P], k + 1 axes, those before the last of `sizes` or 1; each in [0, S).

    Returns:
      [*sizes, P, W].
    """
    count = tf.shape(rows)[0]
    sequences = tf.reduce_prod(sizes)
    length = count // tf.maximum(sequences, 1)
    starts = tf.reshape(length * tf.range(sequences), tf.concat([sizes, [1]], axis=0))
    indices = positions + starts
    if not rows.dtype.is_floating:
        return tf.gather(rows, indices)

    @tf.custom_gradient
    def gather(rows):
        return tf.gather(rows, indices), lambda gradient: tf.math.unsorted_segment_sum(gradient, indices, count)
    return gather(rows)
