"""A Transformer layer: self-attention, then the position-wise feed-forward network; and how an encoder runs it."""

import dataclasses

import tensorflow as tf
import tf_keras

from bert_tf.layers.arithmetic import Arithmetic, Layout
from bert_tf.layers.attention import SelfAttention
from bert_tf.layers.basic import LayerNorm, Projection, SeededDropout
from bert_tf.saved_objects import SavedLayer


class EncoderLayer(SavedLayer, tf_keras.layers.Layer):
    """A post-normalized Transformer layer (one round of the original's `transformer_model`).

    Args:
      config: BertConfig.
      initializer: WeightInitializer.
      sizes: (heads, intermediate size) of this layer, from BertConfig.layer_sizes; None for the config's.
    """

    NUM_DROPOUTS = 3  # seeds that one call uses
    arithmetic = Arithmetic()

    def __init__(self, config, initializer, *, sizes=None, name, dtype=None):
        super().__init__(name=name, dtype=dtype)
        width = config.hidden_size
        num_heads, inner = sizes or (config.num_attention_heads, config.intermediate_size)
        with tf.name_scope(name):
            with tf.name_scope("attention"):
                self.attention = SelfAttention(config, initializer, num_heads=num_heads, dtype=dtype)
                with tf.name_scope("output"):
                    self.attention_output = Projection(num_heads * config.head_width, width, initializer, name="dense",
                                                       dtype=dtype)
                    self.attention_norm = LayerNorm(width)
            with tf.name_scope("intermediate"):
                self.intermediate = Projection(width, inner, initializer,
                                               activation=config.hidden_act, name="dense", dtype=dtype)
            with tf.name_scope("output"):
                self.output_projection = Projection(inner, width, initializer, name="dense", dtype=dtype)
                self.output_norm = LayerNorm(width)
        self.dropout = SeededDropout(config.hidden_dropout_prob, dtype=dtype)

    def call(self, x, layout, attention_bias, dropout_seeds=None):
        """Transforms the tokens of a batch.

        Args:
          x: [T, H].
          layout: Layout of the batch.
          attention_bias: [B, 1, 1, S] or [B, 1, S, S]; see SelfAttention.
          dropout_seeds: NUM_DROPOUTS seeds, each int [2], or None when not training.

        Returns:
          [T, H], and the AttentionMaps of this layer.
        """
        probability_seed, *sum_seeds = dropout_seeds or [None] * self.NUM_DROPOUTS
        context, attention = self.attention(x, layout, attention_bias, dropout_seed=probability_seed)
        drops = [layout.drop(self.dropout, x, seed) for seed in sum_seeds]
        return self.transform(context, x, layout.tokens, drops), attention

    def transform(self, context, x, tokens, drops):
        """Returns the layer's output [T, H].

        Args:
          context: heads' outputs [B, S, N, D].
          x: the layer's input [T, H].
          tokens: method of a Layout.
          drops: two Drops, each None when not training.
        """
        arithmetic, (attention_drop, output_drop) = self.arithmetic, drops
        attended = arithmetic.join_heads(self.attention_output, context, tokens)
        x = arithmetic.add_and_normalize(attended, x, self.attention_norm, attention_drop)
        inner = arithmetic.activate(self.intermediate, x, output_drop is not None)
        return arithmetic.add_and_normalize(self.output_projection(inner), x, self.output_norm, output_drop)


@dataclasses.dataclass(frozen=True)
class LayerRun:
    """Runs an encoder layer on a batch, with the hooks of the encoder around it.

    A hook is a function (number, layer, x, run) -> (x, attention). `number` counts the layers from 0, `run` is the
    LayerRun inside the hook, and `run(layer, x)` computes the layer. The hook may change the input, the output, or the
    layer.

    Attributes:
      layout: Layout of the batch.
      attention_bias: See EncoderLayer.
      dropout_seeds: See EncoderLayer.
      observed: bool. Whether to return the AttentionMaps.
      hooks: tuple of hooks, the last one outermost.
      number: int. Number of the layer, from 0.
    """

    layout: Layout
    attention_bias: tf.Tensor
    dropout_seeds: list | None
    observed: bool
    hooks: tuple
    number: int

    def __call__(self, layer, x):
        """Returns the layer's output [T, H] for x [T, H], and its AttentionMaps, or None if it is not observed."""
        if self.hooks:
            *inner, outermost = self.hooks
            return outermost(self.number, layer, x, dataclasses.replace(self, hooks=tuple(inner)))
        x, attention = self.compute(layer, x)
        return x, attention if self.observed else None

    def compute(self, layer, x):
        """Computes the layer's output [T, H] and AttentionMaps for x [T, H]."""
        return layer(x, self.layout, self.attention_bias, dropout_seeds=self.dropout_seeds)
