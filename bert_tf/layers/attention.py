"""Multi-head self-attention: section 3.2 of "Attention Is All You Need".

The original's function is `attention_layer`.

Shape legend: B batch, S sequence, H hidden, N heads, D head width. H is N * D with the
config's own heads.
"""

import functools
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

        Subclasses for a device override the parts of this method, not the method.

        Args:
          x: [B, S, H].
          context: BatchContext.

        Returns:
          Outputs of the heads, concatenated, [B, S, N D]; and AttentionMaps, which a subclass can
          omit without `context.return_attention`.
        """
        query, key, value = self.project_to_heads(x, context)
        return self.attend(query, key, value, context)

    def project_to_heads(self, x, context):
        """Projects x [B, S, H] to query, key, and value, [B, N, S, D] each."""
        del context
        shape = tf.shape(x)
        qkv = tf.reshape(self.qkv(x), [shape[0], shape[1], 3, self.num_heads, self.head_width])
        return tf.unstack(tf.transpose(qkv, [2, 0, 3, 1, 4]))

    def attend(self, query, key, value, context):
        """Computes the outputs of the heads.

        Args:
          query, key, value: From `project_to_heads`.
          context: BatchContext.

        Returns:
          See `call`.
        """
        scores = tf.matmul(query * self.head_width**-0.5, key, transpose_b=True)  # [B, N, S, S]
        probabilities = self.softmax(scores, context)
        drop = self.create_drop(context)
        dropped = probabilities if drop is None else drop(probabilities)
        heads = tf.transpose(tf.matmul(dropped, value), [0, 2, 1, 3])  # [B, S, N, D]
        return context.to_rows(heads), AttentionMaps(scores, probabilities)

    def softmax(self, scores, context):
        """Computes the attention probabilities in float32, and returns the dtype of the scores."""
        return tf.cast(tf.nn.softmax(tf.cast(scores, tf.float32) + context.bias), scores.dtype)

    def create_drop(self, context):
        """Creates the dropout of the attention probabilities.

        Returns:
          Callable that applies the dropout to a tensor; None when not training.
        """
        if not context.is_training:
            return None
        return functools.partial(self.dropout, seed=context.seeds.probabilities)
