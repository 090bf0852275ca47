"""Layouts of a batch's tokens: all positions, or only the non-padding tokens.

Projections, normalization, and dropout work token by token: on a batch that is half padding, half
of that work is wasted. With UnpaddedLayout they see a matrix of the T non-padding tokens. Only
attention needs the tokens by sequence.

Shape legend: B batch, S sequence, P positions, T tokens, F numbers per token.
"""

import math

import tensorflow as tf

from bert_tf.fast.dropout import create_drop, hash_words


class Layout:
    """A layout in which every position is a token, T = B * S.

    Shapes stay static, as TPUs and XLA require.

    Args:
      input_mask: int32 [B, S], 0 at padding.

    Attributes:
      batch_size, sequence_length: B and S, int if known statically, otherwise an int32 scalar.
    """

    def __init__(self, input_mask):
        sizes = zip(input_mask.shape, tf.unstack(tf.shape(input_mask)), strict=True)
        self.batch_size, self.sequence_length = (
            size if known is None else known for known, size in sizes
        )

    def tokens(self, x):
        """Converts x [B, S, ...] to [T, F], with the axes after S flattened."""
        return flatten(x)

    def sequences(self, x):
        """Converts x [T, F] to [B, S, F]."""
        return tf.reshape(x, [self.batch_size, self.sequence_length, x.shape[-1]])

    def spread(self, x):
        """Converts x [T, F] to [B * S, F] for attention."""
        return x

    def create_drop(self, rate, shape, seed):
        """Creates a Drop for a tensor of `shape`, int [rank], with seed int [2]."""
        return create_drop(rate, shape, seed)

    def create_row_drop(self, rate, shape, seed):
        """Creates a Drop for a tensor of all tokens, of `shape`, int32 [2], with seed int [2]."""
        return self.create_drop(rate, shape, seed)

    def create_output_drop(self, x, at, rate, seed):
        """Creates a Drop for the outputs of a layer.

        Args:
          x: Tensor of the outputs' shape, [T, F] or [B * P, F].
          at: int32 [B, P]. Positions that are computed, with the dropout that they have if all are
            computed; None for all.
          rate: float. Fraction of the elements to zero.
          seed: int [2].
        """
        if at is None:
            return self.create_row_drop(rate, tf.shape(x), seed)
        drop = self.create_row_drop(rate, tf.stack([self.num_rows, x.shape[-1]]), seed)
        return drop.select(lambda keep: self.take(keep, at))

    @property
    def num_rows(self):
        """T, int or int32 scalar."""
        return self.batch_size * self.sequence_length

    def take(self, x, at):
        """Selects the positions `at`, int32 [B, P], of x [T, F], and returns [B * P, F]."""
        x = self.sequences(x)
        return flatten(gather_rows(tf.reshape(x, [-1, x.shape[-1]]), tf.shape(at)[:1], at))


def flatten(x):
    """Converts x [B, S, ...] to [B * S, F], with the axes after S flattened."""
    return tf.reshape(x, [-1, math.prod(x.shape[2:])])


class SequenceLayout(Layout):
    """A layout whose T is two axes, B and S: instead of [T, F], it has [B, S, F].

    XLA merges a matrix multiplication with the next operations only if no reshape is between them,
    and attention needs both axes.
    """

    def tokens(self, x):
        """Converts x [B, S, ...] to [B, S, F], with the axes after S flattened."""
        return tf.reshape(x, [self.batch_size, self.sequence_length, math.prod(x.shape[2:])])

    def sequences(self, x):
        """Returns x [B, S, F] unchanged."""
        return x

    def create_drop(self, rate, shape, seed):
        """Creates a Drop for a tensor of `shape`, int [rank], with seed int [2].

        XLA fuses the hash into its users, and writes random bits only for rows and columns.
        """
        return create_drop(rate, shape, seed, draw_words=hash_words)

    def create_output_drop(self, x, at, rate, seed):
        """Creates a Drop for the outputs of a layer; with `at`, only for these.

        XLA has to write a drop from which it gathers.
        """
        del at
        return self.create_row_drop(rate, tf.shape(x), seed)

    def take(self, x, at):
        """Selects the positions `at`, int32 [B, P], of x [B, S, F], and returns [B * P, F]."""
        return flatten(take(x, at))


class InferenceLayout(SequenceLayout):
    """A SequenceLayout without gradients."""

    def take(self, x, at):
        """Selects the positions `at`, int32 [B, P], of x [B, S, F], and returns [B * P, F]."""
        return Layout.take(self, x, at)


class UnpaddedLayout(Layout):
    """A layout of the non-padding tokens, where a mask is positive.

    Args:
      input_mask: int32 [B, S], 1, or a sequence's number, at tokens and 0 at padding.
      multiple: int. T is rounded up to a multiple of this, as far as there are positions, by adding
        padding after the tokens. XLA compiles once per shape, and so compiles less often.
    """

    def __init__(self, input_mask, multiple=1):
        super().__init__(input_mask)
        flat = tf.reshape(input_mask, [-1])
        tokens = tf.where(flat > 0)  # int64 [T, 1]: position of each token in [B * S].
        num_tokens = tf.shape(tokens)[0]
        # Number of tokens without the padding, an int32 scalar; None if `multiple` is 1.
        self.num_tokens = num_tokens if multiple > 1 else None
        # If there is no token, one row of padding stays, because `spread` gathers the first row at
        # padding.
        num_filled = tf.maximum(-num_tokens % multiple, 1 - num_tokens)
        positions = tf.concat([tokens, tf.where(flat <= 0)[:num_filled]], axis=0)
        # The rows to gather. A GPU slices int64 in its own memory, but int32 on the host.
        self._rows = positions[:, 0]
        # The number of each position in [T], from 1; 0 at padding.
        numbers = tf.range(1, tf.size(self._rows, tf.int64) + 1, dtype=tf.int64)
        self._numbers = tf.scatter_nd(positions, numbers, tf.shape(flat, tf.int64))  # int64 [B * S]

    def tokens(self, x):
        """Converts x [B, S, ...] to [T, F], with the axes after S flattened."""
        # The gradient that TensorFlow gives a gather sums rows that may repeat; these do not.
        return _set_gradient(self._take_rows, self._put_rows)(super().tokens(x))

    def sequences(self, x):
        """Converts x [T, F] to [B, S, F], with zeros at padding."""
        return super().sequences(_set_gradient(self._put_rows, self._take_rows)(x))

    def spread(self, x):
        """Converts x [T, F] to [B * S, F] for attention.

        The rows of padding have no meaning and must not be used. The gradient must be zero there,
        as it is in attention: masked positions have a probability of exactly 0.
        """
        return _set_gradient(
            lambda x: tf.gather(x, tf.maximum(self._numbers - 1, 0)), self._take_rows
        )(x)

    @property
    def num_rows(self):
        """T, int32 scalar."""
        return tf.size(self._rows)

    def create_row_drop(self, rate, shape, seed):
        """Creates a Drop for a tensor of all tokens, of `shape`, int32 [2], with seed int [2].

        It draws only for the tokens, so that the padding computed with them does not change the
        draws.
        """
        if self.num_tokens is None:
            return super().create_row_drop(rate, shape, seed)
        drop = self.create_drop(rate, tf.concat([[self.num_tokens], shape[1:]], axis=0), seed)
        padding = [[0, shape[0] - self.num_tokens]] + [[0, 0]] * (shape.shape[0] - 1)
        return drop.select(lambda keep: tf.pad(keep, padding, constant_values=True))

    def _take_rows(self, x):
        return tf.gather(x, self._rows)

    def _put_rows(self, x):
        # Faster than a scatter, which a CPU does row by row on one core.
        rows = tf.concat([tf.zeros([1, x.shape[-1]], x.dtype), x], axis=0)
        return tf.gather(rows, self._numbers)


def _set_gradient(function, gradient):
    """Returns a function of a tensor with another gradient, which itself has no gradient."""
    # When TensorFlow reads a SavedModel, it warns that the gradient has no gradient.
    return tf.custom_gradient(lambda x: (function(x), gradient))


def gather_rows(rows, sizes, positions):
    """Gathers rows at some positions of consecutive sequences.

    `tf.gather` with batch_dims returns the same. With its gradient it takes 122 operations of a
    graph, and this 41.

    Args:
      rows: [n * S, F], n sequences of S positions.
      sizes: int32 [k], n as it is laid out in k axes.
      positions: int32 [..., P], k + 1 axes, those before the last of `sizes` or 1; each in [0, S).

    Returns:
      [*sizes, P, F].
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
        return tf.gather(rows, indices), lambda gradient: tf.math.unsorted_segment_sum(
            gradient, indices, count
        )

    return gather(rows)


def take(x, at):
    """Selects the positions `at`, int32 [B, P], of x [B, S, ...], and returns [B, P, ...].

    It is a product, because the gradient of a gather is a scatter.
    """
    selected = tf.one_hot(at, tf.shape(x)[1], dtype=x.dtype)  # [B, P, S]
    return tf.einsum("bps,bs...->bp...", selected, x)
