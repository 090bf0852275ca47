"""A bidirectional LSTM over words."""

import tensorflow as tf
import tf_keras

from bert_tf.saved_objects import SavedLayer


class BiLSTM(SavedLayer, tf_keras.layers.Layer):
    """Two LSTMs, one per direction, with concatenated outputs.

    These are Keras layers with the settings that cuDNN requires: tanh, sigmoid, bias, no recurrent dropout. They
    compute in float32.

    Args:
      input_width: int. Size of the input embeddings.
      width: int. Output size of each direction.
      seeds: Two ints. Seeds of the initial weights of the two directions.
    """

    def __init__(self, input_width, width, seeds, *, name):
        super().__init__(name=name, dtype="float32")
        forward, backward = (tf_keras.layers.LSTM(
            width, return_sequences=True, go_backwards=direction == "backward", name=direction, dtype="float32",
            kernel_initializer=tf_keras.initializers.GlorotUniform(2 * seed),
            recurrent_initializer=tf_keras.initializers.Orthogonal(seed=2 * seed + 1),
        ) for direction, seed in zip(("forward", "backward"), seeds, strict=True))
        self.both = tf_keras.layers.Bidirectional(forward, backward_layer=backward, name="both", dtype="float32")
        self.both.build(tf.TensorShape([None, None, input_width]))

    def call(self, x, mask):
        """x float32 [B, W, input_width]; mask bool [B, W], False after the last word of a row -> [B, W, 2 * width]."""
        return self.both(x, mask=tf.ensure_shape(mask, [None, None]))
