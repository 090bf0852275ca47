"""The heads on top of the encoder: masked language model and linear classifier.

Shape legend: T tokens, H hidden, V vocabulary, E embedding size.
"""

import tensorflow as tf
import tf_keras

from bert_tf.layers.basic import LayerNorm, Projection, multiply
from bert_tf.saved_objects import SavedLayer


class MaskedLMHead(SavedLayer, tf_keras.layers.Layer):
    """A head that scores every vocabulary entry at the masked positions.

    The original's function is `get_masked_lm_output`. The output kernel is the word embedding
    matrix itself, passed to each call, unless the config has `tie_word_embeddings` false; the bias
    is this layer's own.

    Args:
      config: BertConfig.
      initializer: WeightInitializer.
    """

    def __init__(self, config, initializer, *, dtype=None):
        super().__init__(name="predictions", dtype=dtype)
        width = config.hidden_size
        with tf.name_scope("predictions"):
            with tf.name_scope("transform"):
                self.transform = Projection(
                    width,
                    width,
                    initializer,
                    activation=config.hidden_act,
                    name="dense",
                    dtype=dtype,
                )
                self.layer_norm = LayerNorm(width)
            self.output_bias = self.add_weight(
                "output_bias", [config.vocab_size], initializer="zeros"
            )
            self.output_weights = None
            if not config.tie_word_embeddings:
                self.output_weights = self.add_weight(
                    "output_weights", [config.vocab_size, width], initializer=initializer
                )

    def call(self, x, embeddings):
        """Returns logits float32 [T, V] for x [T, H] and the Embeddings of the model."""
        x = self.layer_norm(self.transform(x))
        if self.output_weights is not None:
            return self.score(x, self.output_weights, None, self.output_bias)
        return self.score(
            x, embeddings.word_embeddings, embeddings.embedding_projection, self.output_bias
        )

    def score(self, x, table, projection, bias):
        """Returns logits float32 [T, V].

        Args:
          x: [T, H].
          table: Word embeddings or the layer's own matrix [V, H], or [V, E] if factorized.
          projection: [E, H] if the table is factorized, otherwise None.
          bias: [V].
        """
        if projection is not None:
            x = tf.matmul(x, tf.cast(projection, x.dtype), transpose_b=True)  # [T, E]
        table = tf.cast(table, x.dtype)
        bias = tf.cast(bias, x.dtype)
        return tf.cast(tf.nn.bias_add(tf.matmul(x, table, transpose_b=True), bias), tf.float32)


class LinearHead(SavedLayer, tf_keras.layers.Layer):
    """A linear layer x W^T + b on the outputs of an encoder.

    Its `output_weights` [classes, H] have the layout of the original's task heads. The variables
    use the name scope in which the layer is created, so each task has its own variable names in a
    checkpoint. The product is float32 under any dtype policy: it is small, and rounded scores would
    often be equal.
    """

    def __init__(self, config, num_classes, initializer, *, name):
        super().__init__(name=name, dtype="float32")
        self.output_weights = self.add_weight(
            "output_weights", [num_classes, config.hidden_size], initializer=initializer
        )
        self.output_bias = self.add_weight("output_bias", [num_classes], initializer="zeros")

    def call(self, x):
        """Returns logits float32 [T, classes] for x [T, H]."""
        if not self.hooks:
            return tf.nn.bias_add(
                tf.matmul(x, self.output_weights, transpose_b=True), self.output_bias
            )
        return tf.nn.bias_add(
            multiply(x, tf.transpose(self.output_weights), self.hooks), self.output_bias
        )
