"""Which heads attend from words to their syntactic heads, or back (Clark et al. 2019, section 4.2).

Legend: B sentences, N heads of a layer, S sequence, W words.
"""

import tensorflow as tf

DIRECTIONS = ("dependent to head", "head to dependent")


def word_attention(attention, words, num_words):
    """Attention between words: summed to the pieces of a word, averaged from them; what is no word is left out.

    Args:
      attention: float32 [B, N, S, S].
      words: int32 [B, S], the number of each piece's word in its sentence, -1 at [CLS], [SEP] and padding.
      num_words: int, W.

    Returns:
      float32 [B, N, W, W].
    """
    member = tf.one_hot(words, num_words)  # [B, S, W]
    lengths = tf.maximum(tf.reduce_sum(member, axis=1), 1.0)  # [B, W]
    to_words = tf.matmul(attention, member[:, tf.newaxis])  # [B, N, S, W]
    return tf.matmul((member / lengths[:, tf.newaxis])[:, tf.newaxis], to_words, transpose_a=True)


def hits(attention, heads):
    """Whether of all other words a dependent attends most to its head; whether of all other words its head does to it.

    Args:
      attention: float32 [B, N, W, W] of `word_attention`.
      heads: int32 [B, W], the number of each word's head, -1 where it has none, and at padding.

    Returns:
      bool [2, B, N, W], by DIRECTIONS; False where there is no head.
    """
    others = tf.linalg.set_diag(attention, -tf.ones(tf.shape(attention)[:-1]))
    most_from = tf.argmax(others, axis=-1, output_type=tf.int32)  # [B, N, W]
    most_to = tf.argmax(others, axis=-2, output_type=tf.int32)
    return tf.stack([most_from, most_to]) == heads[:, tf.newaxis]
