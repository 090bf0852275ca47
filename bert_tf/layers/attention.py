"""Multi-head self-attention: section 3.2 of "Attention Is All You Need".

The original's function is `attention_layer`.

Shape legend: B batch, S sequence, H hidden, N heads, D head width (H = N * D with the config's own
heads).
"""

import typing

import tensorflow as tf
import tf_keras

from bert_tf.layers.basic import Projection, SeededDropout
from bert_tf.saved_objects import SavedLayer

MASKED_SCORE = -10000.0  # The original's value; -inf would turn a row without any token into NaN.


def attention_bias(input_mask, is_packed=False, is_causal=False):
    """Returns the bias of attention scores, by which no token attends to padding.

    Args:
      input_mask: int32 [B, S], 1 at tokens and 0 at padding; in packed rows, the number of each
        token's sequence.
      is_packed: bool. Whether tokens attend only to tokens of the same sequence.
      is_causal: bool. Whether tokens attend only to themselves and earlier tokens, also of the same
        sequence.

    Returns:
      float32 [B, 1, 1, S], or [B, 1, S, S] if rows are packed or attention is causal.
    """
    if not (is_packed or is_causal):
        return (1.0 - tf.cast(input_mask, tf.float32)[:, tf.newaxis, tf.newaxis, :]) * MASKED_SCORE
    is_apart = input_mask[:, :, tf.newaxis] != input_mask[:, tf.newaxis, :]
    if is_causal:
        positions = tf.range(tf.shape(input_mask)[1])
        is_apart |= positions[:, tf.newaxis] < positions
    return tf.cast(is_apart, tf.float32)[:, tf.newaxis] * MASKED_SCORE


class AttentionMaps(typing.NamedTuple):
    """The attention of a batch in one layer, before dropout.

    Attributes:
      scores: [B, N, S, S]. Scaled products of query and key, before the bias; those of padding have
        no meaning.
      probabilities: [B, N, S, S]. Their softmax, with the bias.
    """

    scores: tf.Tensor
    probabilities: tf.Tensor


class SelfAttention(SavedLayer, tf_keras.layers.Layer):
    """Self-attention: every token attends to the tokens of its sequence.

    The bias can exclude tokens. The kernels of query, key, and value are concatenated in
    `qkv/kernel` [H, 3 N D], so that one matrix multiplication computes all three; checkpoints in
    and out have the original's three kernels.

    Args:
      config: BertConfig.
      initializer: WeightInitializer.
      num_heads: N. D does not depend on it.
    """

    def __init__(self, config, initializer, *, num_heads, dtype=None):
        super().__init__(name="self", dtype=dtype)
        self.num_heads = num_heads
        self.head_width = config.head_width
        with tf.name_scope("self"):
            self.qkv = Projection(
                config.hidden_size,
                3 * self.num_heads * self.head_width,
                initializer,
                name="qkv",
                dtype=dtype,
            )
        self.dropout = SeededDropout(config.attention_probs_dropout_prob, dtype=dtype)

    def call(self, x, bias, seed=None):
        """Computes the attention of a batch.

        Args:
          x: [B, S, H].
          bias: float32 [B, 1, 1, S] or [B, 1, S, S] from `attention_bias`.
          seed: int [2], of dropout; None when not training.

        Returns:
          Outputs of the heads, concatenated, [B, S, N D]; and AttentionMaps.
        """
        shape = tf.shape(x)
        qkv = tf.reshape(self.qkv(x), [shape[0], shape[1], 3, self.num_heads, self.head_width])
        query, key, value = tf.unstack(tf.transpose(qkv, [2, 0, 3, 1, 4]))  # [B, N, S, D] each
        scores = tf.matmul(query * self.head_width**-0.5, key, transpose_b=True)  # [B, N, S, S]
        probabilities = tf.cast(tf.nn.softmax(tf.cast(scores, tf.float32) + bias), x.dtype)
        # [B, S, N, D].
        context = tf.transpose(tf.matmul(self.dropout(probabilities, seed), value), [0, 2, 1, 3])
        context = tf.reshape(context, [shape[0], shape[1], self.num_heads * self.head_width])
        return context, AttentionMaps(scores, probabilities)
