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

    def call(self, x, context):
        """Computes the attention of a batch.

        Args:
          x: [B, S, H].
          context: BatchContext.

        Returns:
          Outputs of the heads, concatenated, [B, S, N D]; and AttentionMaps.
        """
        shape = tf.shape(x)
        qkv = tf.reshape(self.qkv(x), [shape[0], shape[1], 3, self.num_heads, self.head_width])
        query, key, value = tf.unstack(tf.transpose(qkv, [2, 0, 3, 1, 4]))  # [B, N, S, D] each
        scores = tf.matmul(query * self.head_width**-0.5, key, transpose_b=True)  # [B, N, S, S]
        biased = tf.cast(scores, tf.float32) + context.bias
        probabilities = tf.cast(tf.nn.softmax(biased), x.dtype)
        dropped = self.dropout(probabilities, context.seeds.probabilities)
        heads = tf.transpose(tf.matmul(dropped, value), [0, 2, 1, 3])  # [B, S, N, D]
        heads = tf.reshape(heads, [shape[0], shape[1], self.num_heads * self.head_width])
        return heads, AttentionMaps(scores, probabilities)
