"""Heads that attend from words to their syntactic heads, or back (Clark et al. 2019, section 4.2).

Legend: B sentences, N heads of a layer, S sequence, W words.
"""

import tensorflow as tf

DIRECTIONS = ("dependent to head", "head to dependent")


def word_attention(attention, words, num_words):
    """Computes attention between words: summed to the tokens of a word, averaged from them; other tokens are ignored.

    Args:
      attention: float32 [B, N, S, S].
      words: int32 [B, S]. Number of each token's word in its sentence, -1 at [CLS], [SEP], and padding.
      num_words: int, W.

    Returns:
      float32 [B, N, W, W].
    """
    member = tf.one_hot(words, num_words)  # [B, S, W]
    lengths = tf.maximum(tf.reduce_sum(member, axis=1), 1.0)  # [B, W]
    to_words = tf.matmul(attention, member[:, tf.newaxis])  # [B, N, S, W]
    return tf.matmul((member / lengths[:, tf.newaxis])[:, tf.newaxis], to_words, transpose_a=True)


def hits(attention, heads):
    """Compares each dependent's most attended other word with its head, and the other way around.

    Args:
      attention: float32 [B, N, W, W] from `word_attention`.
      heads: int32 [B, W]. Number of each word's head, -1 if it has none, and at padding.

    Returns:
      bool [2, B, N, W], by DIRECTIONS: whether they are equal; False without a head.
    """
    others = tf.linalg.set_diag(attention, -tf.ones(tf.shape(attention)[:-1]))
    most_from = tf.argmax(others, axis=-1, output_type=tf.int32)  # [B, N, W]
    most_to = tf.argmax(others, axis=-2, output_type=tf.int32)
    return tf.stack([most_from, most_to]) == heads[:, tf.newaxis]
