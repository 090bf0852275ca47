"""Leaving padding out of the position-wise part of the encoder.

Projections, normalisation and dropout work token by token: on a batch that is half padding, half of that work is for
nothing. They see a matrix of T tokens instead: all of a batch, or the real ones alone. Only attention needs the
tokens laid out by sequence.

Shape legend: B batch, S sequence, T tokens, W width of any kind.
"""

import tensorflow as tf


class AllTokens:
    """Every position is a token, T = B * S: shapes stay static, as TPUs and XLA need.

    Attributes:
      num_real: None, or how many tokens, the first, are no padding.
    """

    num_real = None

    def pack(self, x):
        """[B * S, W] -> [T, W]."""
        return x

    def unpack(self, x):
        """[T, W] -> [B * S, W]."""
        return x

    def spread(self, x):
        """[T, W] -> [B * S, W]."""
        return x


class RealTokens:
    """The positions where a mask is over 0 are tokens.

    Args:
      input_mask: int32 [B, S], 1, or a sequence's number, at real tokens and 0 at padding.
      multiple: T is to be a multiple of this, so far as there are positions: then some padding is computed along, after
        the real tokens. What is compiled for each shape is compiled less often.

    Attributes:
      num_real: int32 scalar, how many tokens, the first, are no padding; None with a multiple of 1, where all are.
    """

    def __init__(self, input_mask, multiple=1):
        flat = tf.reshape(input_mask, [-1])
        real = tf.where(flat > 0)  # int64 [T, 1], where in [B * S] each token is
        num_real = tf.shape(real)[0]
        self.num_real = num_real if multiple > 1 else None
        # One of padding where there is nothing else, so that there is a row to take in place of others.
        num_filled = tf.maximum(-num_real % multiple, 1 - num_real)
        positions = tf.concat([real, tf.where(flat <= 0)[:num_filled]], axis=0)
        self._rows = positions[:, 0]  # to gather; a GPU slices int64 in its own memory, but int32 on the host
        # Where in [T] each position is, counted from 1; 0 at padding.
        numbers = tf.range(1, tf.size(self._rows, tf.int64) + 1, dtype=tf.int64)
        self._numbers = tf.scatter_nd(positions, numbers, tf.shape(flat, tf.int64))  # int64 [B * S]

    def pack(self, x):
        """[B * S, W] -> [T, W]."""
        @tf.custom_gradient
        def pack(x):
            # The gradient that TensorFlow gives a gather sums rows that may repeat; these do not.
            return tf.gather(x, self._rows), self.unpack
        return pack(x)

    def unpack(self, x):
        """[T, W] -> [B * S, W], zeros at padding."""
        @tf.custom_gradient
        def unpack(x):
            # Faster than a scatter, which a CPU does row by row on one core.
            rows = tf.concat([tf.zeros([1, x.shape[-1]], x.dtype), x], axis=0)
            return tf.gather(rows, self._numbers), self.pack
        return unpack(x)

    def spread(self, x):
        """[T, W] -> [B * S, W], where what stands at padding means nothing and must not be used.

        The gradient must be zero there, as it is in attention: what is masked has a probability of exactly 0.
        """
        @tf.custom_gradient
        def spread(x):
            return tf.gather(x, tf.maximum(self._numbers - 1, 0)), self.pack
        return spread(x)
