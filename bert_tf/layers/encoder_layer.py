"""A Transformer layer: self-attention, then the position-wise feed-forward network.

Shape legend: B batch, S sequence, H hidden.
"""

import functools

import tensorflow as tf
import tf_keras

from bert_tf.layers.attention import SelfAttention
from bert_tf.layers.basic import LayerNorm, Projection, SeededDropout
from bert_tf.saved_objects import SavedLayer


class EncoderLayer(SavedLayer, tf_keras.layers.Layer):
    """A post-normalized Transformer layer (one round of the original's `transformer_model`).

    Args:
      config: BertConfig.
      initializer: WeightInitializer.
      sizes: Tuple (heads, intermediate size) of this layer, from BertConfig.layer_sizes.

    Attributes:
      attention_class: Class of the layer for self-attention.
    """

    attention_class = SelfAttention

    def __init__(self, config, initializer, *, sizes, name, dtype=None):
        super().__init__(name=name, dtype=dtype)
        width = config.hidden_size
        num_heads, inner = sizes
        with tf.name_scope(name):
            with tf.name_scope("attention"):
                self.attention = self.attention_class(
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

    def call(self, x, context):
        """Transforms a batch: self-attention, feed-forward network, each added and normalized.

        Subclasses for a device override the parts of this method, not the method.

        Args:
          x: [B, S, H].
          context: BatchContext with the seeds of this use of the layer.

        Returns:
          [B, S, H]; with `context.return_attention` this and AttentionMaps.
        """
        seeds = context.seeds
        attended, maps = self.attend(x, context)
        x = context.take_outputs(x)
        drop = self.create_drop(x, context, seeds.attended)
        x = self.add_and_normalize(attended, x, self.attention_norm, drop)
        drop = self.create_drop(x, context, seeds.output)
        x = self.add_and_normalize(self.feed_forward(x, context), x, self.output_norm, drop)
        return (x, maps) if context.return_attention else x

    def attend(self, x, context):
        """Computes multi-head self-attention, with the projection of the concatenated heads.

        Args:
          x, context: See `call`.

        Returns:
          [B, S, H]; and AttentionMaps, which a subclass can omit without `return_attention`.
        """
        heads, maps = self.attention(x, context)
        return self.attention_output(heads), maps

    def feed_forward(self, x, context):
        """Applies the feed-forward network to x [B, S, H], and returns the same shape."""
        del context
        return self.output_projection(self.intermediate(x))

    def create_drop(self, x, context, seed):
        """Creates the dropout for a tensor of the shape of x, the part of a layer's input in use.

        Args:
          x, context: See `call`.
          seed: int [2]; None when not training.

        Returns:
          Callable that applies the dropout to a tensor; None when not training.
        """
        del x
        return functools.partial(self.dropout, seed=seed) if context.is_training else None

    def add_and_normalize(self, y, x, norm, drop):
        """Returns norm(drop(y) + x), all [B, S, H]; `drop` is None when not training."""
        return norm((y if drop is None else drop(y)) + x)
