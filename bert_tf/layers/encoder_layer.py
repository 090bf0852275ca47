"""One Transformer layer: self-attention, then the position-wise feed-forward network."""

import tensorflow as tf
import tf_keras

from bert_tf.layers import compiled
from bert_tf.layers.attention import SelfAttention
from bert_tf.layers.basic import Dropout, LayerNorm, Projection
from bert_tf.layers.positions import rows_at


class EncoderLayer(tf_keras.layers.Layer):
    """A post-normalised Transformer layer (one round of the original's `transformer_model`).

    Args:
      config: BertConfig.
      initializer: WeightInitializer.
      sizes: of BertConfig.layer_sizes, heads and width of the feed-forward layer; None takes the config's.
      compile_blocks: whether XLA compiles the element-wise work of training; see bert_tf.layers.compiled.
      einsum_attention: see SelfAttention.
    """

    NUM_DROPOUTS = 3  # seeds that one call uses

    def __init__(self, config, initializer, *, sizes=None, compile_blocks=False, einsum_attention=False, name,
                 dtype=None):
        super().__init__(name=name, dtype=dtype)
        width = config.hidden_size
        num_heads, inner = sizes or (config.num_attention_heads, config.intermediate_size)
        self._activation_block = compiled.activation(config.hidden_act) if compile_blocks else None
        with tf.name_scope(name):
            with tf.name_scope("attention"):
                self.attention = SelfAttention(config, initializer, num_heads=num_heads, use_einsum=einsum_attention,
                                               dtype=dtype)
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
        self.dropout = Dropout(config.hidden_dropout_prob, dtype=dtype)
        self._sum_block = compiled.add_and_normalize(self.dropout.scale) if compile_blocks else None

    def call(self, x, tokens, attention_bias, dropout_seeds=None, positions=None, raw_scores=False):
        """Transforms the tokens of a batch.

        Args:
          x: [T, H].
          tokens: bert_tf.layers.padding.AllTokens or RealTokens of the batch.
          attention_bias: [B, 1, 1, S] or [B, 1, S, S]; see SelfAttention.
          dropout_seeds: NUM_DROPOUTS seeds, each int [2], or None when not training.
          positions: int32 [B, P], those to compute the output at, as is enough of the last layer for many tasks; None
            for all. Dropout is then what it would be for all.
          raw_scores: whether attention scores are given in place of the probabilities, before bias and softmax.

        Returns:
          [T, H], or [B * P, H] with positions; and the attention probabilities, [B, N, S, S] or [B, N, P, S].
        """
        probability_seed, *sum_seeds = dropout_seeds or [None] * self.NUM_DROPOUTS
        context, probabilities = self.attention(x, tokens, attention_bias, dropout_seed=probability_seed,
                                                positions=positions, raw_scores=raw_scores)
        masks = [self._mask(x, tokens, seed, positions) for seed in sum_seeds]
        if positions is not None:
            x = _at_positions(tokens.unpack(x), positions)
        x = self._add_and_normalize(self.attention_norm, self.attention_output(context), x, masks[0])
        activation = None if dropout_seeds is None else self._activation_block
        transformed = self.output_projection(self.intermediate(x, activation=activation))
        return self._add_and_normalize(self.output_norm, transformed, x, masks[1]), probabilities

    def _mask(self, x, tokens, seed, positions):
        """The dropout mask of x [T, H], or of its rows at positions; None when not training."""
        if seed is None:
            return None
        keep = self.dropout.mask(tf.shape(x), seed, tokens.num_real)
        return _at_positions(tokens.unpack(keep), positions) if positions is not None and keep.shape.rank else keep

    def _add_and_normalize(self, norm, x, residual, keep):
        """norm(dropout(x) + residual), [T, H]; keep: of `_mask`."""
        if keep is not None and self._sum_block:
            return self._sum_block(x, residual, keep, *map(tf.convert_to_tensor, (norm.gamma, norm.beta)))
        if keep is not None and keep.shape.rank:
            x = self.dropout.drop(x, keep)
        return norm(x + residual)


def _at_positions(x, positions):
    """Rows of x [B * S, W] at positions int32 [B, P] of each sequence -> [B * P, W]."""
    return tf.reshape(rows_at(x, tf.shape(positions)[:1], positions), [-1, x.shape[-1]])
