"""One Transformer layer: self-attention, then the position-wise feed-forward network."""

import tensorflow as tf
import tf_keras

from bert_tf.layers.attention import SelfAttention
from bert_tf.layers.basic import Dropout, LayerNorm, Projection


class EncoderLayer(tf_keras.layers.Layer):
    """A post-normalised Transformer layer (one round of the original's `transformer_model`)."""

    NUM_DROPOUTS = 3  # seeds that one call uses

    def __init__(self, config, initializer, *, name, dtype=None):
        super().__init__(name=name, dtype=dtype)
        width = config.hidden_size
        with tf.name_scope(name):
            with tf.name_scope("attention"):
                self.attention = SelfAttention(config, initializer, dtype=dtype)
                with tf.name_scope("output"):
                    self.attention_output = Projection(width, width, initializer, name="dense", dtype=dtype)
                    self.attention_norm = LayerNorm(width)
            with tf.name_scope("intermediate"):
                self.intermediate = Projection(width, config.intermediate_size, initializer,
                                               activation=config.hidden_act, name="dense", dtype=dtype)
            with tf.name_scope("output"):
                self.output_projection = Projection(config.intermediate_size, width, initializer,
                                                    name="dense", dtype=dtype)
                self.output_norm = LayerNorm(width)
        self.dropout = Dropout(config.hidden_dropout_prob, dtype=dtype)

    def call(self, x, tokens, attention_bias, dropout_seeds=None):
        """Transforms the tokens of a batch.

        Args:
          x: [T, H].
          tokens: bert_tf.layers.padding.AllTokens or RealTokens of the batch.
          attention_bias: [B, 1, 1, S].
          dropout_seeds: NUM_DROPOUTS seeds, each int [2], or None when not training.

        Returns:
          [T, H], and the attention probabilities [B, N, S, S].
        """
        probability_seed, attention_seed, output_seed = dropout_seeds or [None] * self.NUM_DROPOUTS
        context, probabilities = self.attention(x, tokens, attention_bias, dropout_seed=probability_seed)
        attended = self.attention_output(context)
        x = self.attention_norm(self.dropout(attended, seed=attention_seed) + x)
        transformed = self.output_projection(self.intermediate(x))
        return self.output_norm(self.dropout(transformed, seed=output_seed) + x), probabilities
