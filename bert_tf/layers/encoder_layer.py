"""A Transformer layer: self-attention, then the position-wise feed-forward network."""

import tensorflow as tf
import tf_keras

from bert_tf.layers.attention import SelfAttention
from bert_tf.layers.basic import LayerNorm, Projection, SeededDropout
from bert_tf.saved_objects import SavedLayer

NO_SEEDS = None, None, None  # A call outside of training.


class EncoderLayer(SavedLayer, tf_keras.layers.Layer):
    """A post-normalized Transformer layer (one round of the original's `transformer_model`).

    Args:
      config: BertConfig.
      initializer: WeightInitializer.
      sizes: Tuple (heads, intermediate size) of this layer, from BertConfig.layer_sizes.
    """

    def __init__(self, config, initializer, *, sizes, name, dtype=None):
        super().__init__(name=name, dtype=dtype)
        width = config.hidden_size
        num_heads, inner = sizes
        with tf.name_scope(name):
            with tf.name_scope("attention"):
                self.attention = SelfAttention(
                    config, initializer, num_heads=num_heads, dtype=dtype
                )
                with tf.name_scope("output"):
                    self.attention_output = Projection(
                        num_heads * config.head_width, width, initializer, name="dense", dtype=dtype
                    )
                    self.attention_norm = LayerNorm(width)
            with tf.name_scope("intermediate"):
                self.intermediate = Projection(
                    width,
                    inner,
                    initializer,
                    activation=config.hidden_act,
                    name="dense",
                    dtype=dtype,
                )
            with tf.name_scope("output"):
                self.output_projection = Projection(
                    inner, width, initializer, name="dense", dtype=dtype
                )
                self.output_norm = LayerNorm(width)
        self.dropout = SeededDropout(config.hidden_dropout_prob, dtype=dtype)

    def call(self, x, bias, seeds=NO_SEEDS, return_attention_scores=False):
        """Transforms a batch.

        Args:
          x: [B, S, H].
          bias: float32 [B, 1, 1, S] or [B, 1, S, S], added to the attention scores; from
            `attention_bias`.
          seeds: Three seeds of dropout, each int [2]: of the attention probabilities, after the
            attention, and after the feed-forward network; NO_SEEDS when not training.
          return_attention_scores: bool. Whether to return AttentionMaps, too.

        Returns:
          [B, S, H], or this and AttentionMaps.
        """
        context, maps = self.attention(x, bias, seeds[0])
        x = self.attention_norm(x + self.dropout(self.attention_output(context), seeds[1]))
        x = self.output_norm(
            x + self.dropout(self.output_projection(self.intermediate(x)), seeds[2])
        )
        return (x, maps) if return_attention_scores else x
