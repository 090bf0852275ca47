"""SeededDropout by 16 random bits per element, which can be drawn before it is applied."""

import typing

import tensorflow as tf

from bert_tf.layers import SeededDropout


class Drop(typing.NamedTuple):
    """The elements that one use of dropout zeroes, already sampled.

    Attributes:
      keep: bool, of the shape of a tensor. True for elements to keep; a scalar if all are kept.
      scale: float. Factor of the elements that are kept.
    """

    keep: tf.Tensor
    scale: float

    def __call__(self, x):
        """Applies the dropout to x of keep's shape, and returns the same shape."""
        if not self.keep.shape.rank:
            return x

        @tf.custom_gradient
        def drop(x):
            # Do not write the gradient as the same product: TensorFlow would keep its float factor
            # until then.
            return x * (tf.cast(self.keep, x.dtype) * self.scale), lambda dy: tf.where(
                self.keep, dy * self.scale, tf.zeros([], dy.dtype)
            )

        return drop(x)

    def select(self, gather):
        """Returns the Drop of the elements that `gather(keep)` returns."""
        return Drop(gather(self.keep), self.scale) if self.keep.shape.rank else self


class BitDropout(SeededDropout):
    """A SeededDropout whose elements are dropped by `create_drop`."""

    def call(self, x, seed=None):
        """Applies dropout to x, of rank 1 or more, and returns the same shape.

        Args:
          x: Tensor of a float dtype.
          seed: See SeededDropout.
        """
        return x if seed is None or not self.rate else create_drop(self.rate, tf.shape(x), seed)(x)


def create_drop(rate, shape, seed, draw_words=None):
    """Creates the Drop for a tensor.

    16 random bits decide about an element, half as many as in TensorFlow's dropout. Therefore, the
    rate is rounded to a multiple of 1 / 65536, and the scale follows from the rounded rate.

    Args:
      rate: float. Fraction of the elements to zero.
      shape: int [rank].
      seed: int [2].
      draw_words: Callable (shape, seed) that returns 32 random bits for each element, uint32. If
        None, each word decides about two elements.

    Returns:
      Drop.
    """
    num_dropped = round(rate * 2**16)  # Number of 16-bit values that drop an element.
    scale = 2**16 / (2**16 - num_dropped)
    if not num_dropped:
        return Drop(tf.constant(True), scale)
    # Least word whose upper half keeps an element.
    min_word = tf.constant(num_dropped << 16, tf.uint32)
    if draw_words:
        return Drop(draw_words(shape, seed) >= min_word, scale)
    # The upper halves of the words drawn decide on the first half of the first axis, the lower ones
    # on the second. Two neighbors that share a word would have to be moved apart.
    first_axis = [1] + [0] * (shape.shape[0] - 1)
    # Half of the first axis, rounded up.
    half = (shape + first_axis) // [1 + axis for axis in first_axis]
    words = tf.random.stateless_uniform(half, seed, minval=None, maxval=None, dtype=tf.uint32)
    lower = tf.bitwise.left_shift(words, tf.constant(16, tf.uint32))
    keep = tf.slice(
        tf.concat([words >= min_word, lower >= min_word], axis=0), [0] * len(first_axis), shape
    )
    return Drop(keep, scale)


def hash_words(shape, seed):
    """Returns 32 random bits for each element of a tensor, by a hash.

    The hash combines random words for the rows and for the columns. XLA computes it in the
    operation that uses the bits, instead of writing and reading them.

    Element (r, c) gets a_r w_c + b_r mod 2^32, with uniform words a_r (odd), b_r, and w_c:
    multiply-add hashing (Dietzfelbinger 1996, "Universal hashing and k-wise independent random
    variables via integer arithmetic without primes"), with random words instead of keys. All words
    of a row are independent, because an odd factor permutes the values of a word, and any three
    words are independent. The four corners of a rectangle are not exactly independent.

    Args:
      shape: int [rank]. The last axis has the columns, all others the rows.
      seed: int [2].

    Returns:
      uint32 of `shape`.
    """
    rows = shape[:-1]
    columns = shape[-1]
    num_rows = tf.reduce_prod(rows)
    words = tf.random.stateless_uniform(
        [2 * num_rows + columns], seed, minval=None, maxval=None, dtype=tf.uint32
    )
    factors, addends, column_words = tf.split(words, tf.stack([num_rows, num_rows, columns]))
    shape = tf.concat([rows, [1]], axis=0)
    return (tf.reshape(factors, shape) | 1) * column_words + tf.reshape(addends, shape)
