"""Layers on the outputs of an encoder: a bidirectional LSTM, and a learned mix of layers.

The LSTM reads words or tokens.

Shape legend: B batch, WO words, S sequence, H hidden.
"""

import tensorflow as tf
import tf_keras

from bert_tf.saved_objects import SavedLayer

LSTM_SEEDS = 2**24  # Keras accepts 31 bits, and several seeds are derived from one.


class BiLSTM(SavedLayer, tf_keras.layers.Layer):
    """Two LSTMs, one per direction, with concatenated outputs.

    These are Keras layers with the settings that cuDNN requires: tanh, sigmoid, bias, no recurrent
    dropout. They compute in float32.

    Args:
      input_width: int. Size of the input embeddings.
      width: int. Output size of each direction.
      seeds: Two ints. Seeds of the initial weights of the two directions.
    """

    def __init__(self, input_width, width, seeds, *, name):
        super().__init__(name=name, dtype="float32")
        forward, backward = (
            tf_keras.layers.LSTM(
                width,
                return_sequences=True,
                go_backwards=direction == "backward",
                name=direction,
                dtype="float32",
                kernel_initializer=tf_keras.initializers.GlorotUniform(2 * seed),
                recurrent_initializer=tf_keras.initializers.Orthogonal(seed=2 * seed + 1),
            )
            for direction, seed in zip(("forward", "backward"), seeds, strict=True)
        )
        self.both = tf_keras.layers.Bidirectional(
            forward, backward_layer=backward, name="both", dtype="float32"
        )
        self.both.build(tf.TensorShape([None, None, input_width]))

    def call(self, x, mask):
        """Reads a batch in both directions.

        Args:
          x: float32 [B, WO, input_width].
          mask: bool [B, WO]. False after the last word of a row.

        Returns:
          float32 [B, WO, 2 * width].
        """
        return self.both(x, mask=tf.ensure_shape(mask, [None, None]))


class BiLSTMHead(SavedLayer, tf_keras.layers.Layer):
    """A BiLSTM between the encoder and the head of a task (table 5 of the paper).

    Its outputs have the size H, so that the shapes of heads are the same with and without it.

    Args:
      width: int. H, which is even.
      seed: int. Seed of the initial weights.
    """

    def __init__(self, width, seed):
        super().__init__(name="bilstm", dtype="float32")
        with tf.name_scope("bilstm"):
            self.lstm = BiLSTM(width, width // 2, (2 * seed, 2 * seed + 1), name="lstm")

    def call(self, x, input_mask):
        """Reads the encoder's last layer.

        Args:
          x: [B, S, H]. Outputs of the last layer.
          input_mask: int32 [B, S], 1 at tokens and 0 at padding, which follows the tokens.

        Returns:
          Outputs for the tokens, float32 [B, S, H], and for the whole sequence, float32 [B, H]:
          those of each direction after its last step.
        """
        outputs = self.lstm(tf.cast(x, tf.float32), input_mask > 0)
        forward, backward = tf.split(outputs, 2, axis=-1)
        last = tf.maximum(tf.reduce_sum(input_mask, axis=1) - 1, 0)
        return outputs, tf.concat([tf.gather(forward, last, batch_dims=1), backward[:, 0]], axis=-1)


class ScalarMix(SavedLayer, tf_keras.layers.Layer):
    """A weighted sum of K tensors, times gamma; at first, their mean (ELMo, Peters et al. 2018).

    Weights: `scores` [tensors], whose softmax gives the weights of the sum, and `gamma`.
    """

    def __init__(self, num_layers):
        super().__init__(name="mix", dtype="float32")
        with tf.name_scope("mix"):
            self.scores = self.add_weight("scores", [num_layers], initializer="zeros")
            self.gamma = self.add_weight("gamma", [], initializer="ones")

    @property
    def layer_weights(self):
        """Weight of each tensor, float32 [tensors]; the sum is 1."""
        return tf.nn.softmax(self.scores)

    def call(self, layers, axis=0):
        """Mixes K float32 tensors, stacked along `axis`; the result lacks that axis."""
        return self.gamma * tf.tensordot(self.layer_weights, layers, [[0], [axis]])
