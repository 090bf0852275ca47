"""What sits on the encoder: the two pre-training heads and a linear classifier.

Shape legend: T tokens, H hidden, V vocabulary.
"""

import tensorflow as tf
import tf_keras

from bert_tf.layers.basic import LayerNorm, Projection


class MaskedLMHead(tf_keras.layers.Layer):
    """Scores every vocabulary entry at the masked positions (the original's `get_masked_lm_output`).

    The output kernel is the word embedding table itself, given on each call; the bias is this layer's own.

    Args:
      config: BertConfig.
      initializer: WeightInitializer.
      vocabulary_multiple: the product is computed for so many rows of zeros more that their number is a multiple of
        this; they are cut off its result. A GPU's matrix units want rows of 16 bytes: multiples of 8 in 16 bits.
      float32_logits: under mixed precision too compute the product with the table in float32: for few positions, as
        in serving, no cast of the table and no rounding of the scores.
    """

    def __init__(self, config, initializer, *, vocabulary_multiple=1, float32_logits=False, name="predictions",
                 dtype=None):
        super().__init__(name=name, dtype=dtype)
        self._vocabulary_size = config.vocab_size
        self._padding = -config.vocab_size % vocabulary_multiple
        self._product_dtype = tf.float32 if float32_logits else tf.as_dtype(self.compute_dtype)
        width = config.hidden_size
        with tf.name_scope(name):
            with tf.name_scope("transform"):
                self.transform = Projection(width, width, initializer, activation=config.hidden_act,
                                            name="dense", dtype=dtype)
                self.layer_norm = LayerNorm(width)
            self.output_bias = self.add_weight("output_bias", [config.vocab_size], initializer="zeros")

    def call(self, x, word_embeddings, embedding_projection=None):
        """x [T, H], word_embeddings [V, H] -> logits float32 [T, V]; of a factorised table [V, E] and [E, H]."""
        x = tf.cast(self.layer_norm(self.transform(x)), self._product_dtype)
        if embedding_projection is not None:
            x = tf.matmul(x, tf.cast(embedding_projection, x.dtype), transpose_b=True)  # [T, E]
        table, bias = (tf.cast(weight, x.dtype) for weight in (word_embeddings, self.output_bias))
        if self._padding:
            table, bias = tf.pad(table, [[0, self._padding], [0, 0]]), tf.pad(bias, [[0, self._padding]])
        logits = tf.nn.bias_add(tf.matmul(x, table, transpose_b=True), bias)
        if self._padding:
            logits = tf.slice(logits, [0, 0], [-1, self._vocabulary_size])
        return tf.cast(logits, tf.float32)


class LinearHead(tf_keras.layers.Layer):
    """x W^T + b, with `output_weights` [classes, H] laid out as in the original's task heads.

    The variables take the name scope they are made in, which is how each task names its head in a checkpoint. The
    product is in float32 under mixed precision too: it is small, and scores in 16 bits would often be equal.
    """

    quantization = None  # as Projection's

    def __init__(self, config, num_classes, initializer, *, name):
        super().__init__(name=name, dtype="float32")
        self.output_weights = self.add_weight(
            "output_weights", [num_classes, config.hidden_size], initializer=initializer)
        self.output_bias = self.add_weight("output_bias", [num_classes], initializer="zeros")

    def call(self, x):
        """x [T, H] -> logits float32 [T, classes]."""
        if self.quantization is None:
            return tf.nn.bias_add(tf.matmul(x, self.output_weights, transpose_b=True), self.output_bias)
        return tf.nn.bias_add(self.quantization.product(x, tf.transpose(self.output_weights)), self.output_bias)
