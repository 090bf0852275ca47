"""Random bits that XLA computes in the operation that uses them, instead of writing and reading them."""

import tensorflow as tf


def hash_words(shape, seed):
    """Returns 32 random bits for each element of a tensor, by a hash of random words for its rows and columns.

    Element (r, c) gets a_r w_c + b_r mod 2^32, with uniform words a_r (odd), b_r, and w_c: multiply-add hashing
    (Dietzfelbinger 1996, "Universal hashing and k-wise independent random variables via integer arithmetic without
    primes"), with random words instead of keys. All words of a row are independent, because an odd factor permutes the
    values of a word, and any three words are independent. The four corners of a rectangle are not exactly independent.

    Args:
      shape: int [rank]. The last axis has the columns, all others the rows.
      seed: int [2].

    Returns:
      uint32 of `shape`.
    """
    rows, columns = shape[:-1], shape[-1]
    num_rows = tf.reduce_prod(rows)
    words = tf.random.stateless_uniform([2 * num_rows + columns], seed, minval=None, maxval=None, dtype=tf.uint32)
    factors, addends, column_words = tf.split(words, tf.stack([num_rows, num_rows, columns]))
    factors, addends = (tf.reshape(each, tf.concat([rows, [1]], axis=0)) for each in (factors, addends))
    return (factors | 1) * column_words + addends
