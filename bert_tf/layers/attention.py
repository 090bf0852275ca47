"""Multi-head self-attention (section 3.2 of "Attention Is All You Need"; the original's `attention_layer`).

Shape legend: B batch, S sequence, T tokens, H hidden, N heads, D head width (H = N * D with the config's own heads).
"""

import tensorflow as tf
import tf_keras

from bert_tf.layers.arithmetic import Arithmetic
from bert_tf.layers.basic import Projection, SeededDropout
from bert_tf.saved_objects import SavedLayer

MASKED_SCORE = -10000.0  # The original's value; -inf would turn a row without any token into NaN.


def attention_bias(input_mask, dtype=tf.float32):
    """input_mask [B, S], 1 at tokens and 0 at padding -> [B, 1, 1, S] to add to attention scores."""
    return (1.0 - tf.cast(input_mask, dtype)[:, tf.newaxis, tf.newaxis, :]) * MASKED_SCORE


def packed_attention_bias(sequences, dtype=tf.float32):
    """sequences [B, S], the number of each token's sequence, from 1, and 0 at padding -> [B, 1, S, S].

    Tokens attend only to tokens of the same sequence.
    """
    is_apart = sequences[:, :, tf.newaxis] != sequences[:, tf.newaxis, :]
    return tf.cast(is_apart, dtype)[:, tf.newaxis] * MASKED_SCORE


def causal_attention_bias(sequences, dtype=tf.float32):
    """sequences [B, S], see `packed_attention_bias`, or an input_mask -> [B, 1, S, S].

    Tokens attend only to themselves and earlier tokens of the same sequence.
    """
    places = tf.range(tf.shape(sequences)[1])
    is_apart = (sequences[:, :, tf.newaxis] != sequences[:, tf.newaxis, :]) | (places[:, tf.newaxis] < places)
    return tf.cast(is_apart, dtype)[:, tf.newaxis] * MASKED_SCORE


class SelfAttention(SavedLayer, tf_keras.layers.Layer):
    """Self-attention: every token attends to every token of its sequence, unless the bias excludes it.

    The kernels of query, key, and value are concatenated in `qkv/kernel` [H, 3 N D], so that one matrix multiplication
    computes all three; checkpoints in and out have the original's three kernels.

    Args:
      config: BertConfig.
      initializer: WeightInitializer.
      num_heads: N; None for the config's. D does not depend on it.
    """

    arithmetic = Arithmetic()

    def __init__(self, config, initializer, *, num_heads=None, name="self", dtype=None):
        super().__init__(name=name, dtype=dtype)
        self.num_heads = num_heads or config.num_attention_heads
        self.head_width = config.head_width
        with tf.name_scope(name):
            self.qkv = Projection(config.hidden_size, 3 * self.num_heads * self.head_width, initializer, name="qkv",
                                  dtype=dtype)
        self.dropout = SeededDropout(config.attention_probs_dropout_prob, dtype=dtype)

    def call(self, x, layout, bias, dropout_seed=None):
        """Computes the attention of a batch.

        Args:
          x: [T, H].
          layout: Layout of the batch.
          bias: [B, 1, 1, S] from `attention_bias`, or [B, 1, S, S] from the others.
          dropout_seed: int [2], or None when not training.

        Returns:
          Outputs of the heads, [B, S, N, D], and AttentionMaps.
        """
        query, key, value = self.arithmetic.heads(self, x, layout)  # [B, N, S, D] each
        return self.arithmetic.attend(query, key, value, bias, self.draw(layout, dropout_seed))

    def draw(self, layout, seed):
        """Draws the Drop for the probabilities [B, N, S, S] of a batch; returns None without a seed."""
        if seed is None:
            return None
        length = layout.sequence_length
        return layout.draw(self.dropout, tf.stack([layout.batch_size, self.num_heads, length, length]), seed)

    def split_heads(self, qkv, layout):
        """qkv [B, S, 3 N D] or [B * S, 3 N D] -> query, key, and value, [B, N, S, D] each."""
        shape = [layout.batch_size, layout.sequence_length, 3, self.num_heads, self.head_width]
        return tf.unstack(tf.transpose(tf.reshape(qkv, shape), [2, 0, 3, 1, 4]), num=3)
