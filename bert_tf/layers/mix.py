"""A learned mix of the layers of an encoder (ELMo, Peters et al. 2018)."""

import tensorflow as tf
import tf_keras

from bert_tf.saved_objects import SavedLayer


class ScalarMix(SavedLayer, tf_keras.layers.Layer):
    """A weighted sum of K tensors, times gamma; at first, their mean.

    Weights: `scores` [K], whose softmax gives the weights of the sum, and `gamma`.
    """

    def __init__(self, num_layers, *, name="mix"):
        super().__init__(name=name, dtype="float32")
        with tf.name_scope(name):
            self.scores = self.add_weight("scores", [num_layers], initializer="zeros")
            self.gamma = self.add_weight("gamma", [], initializer="ones")

    @property
    def layer_weights(self):
        """Weight of each tensor, float32 [K]; the sum is 1."""
        return tf.nn.softmax(self.scores)

    def call(self, layers, axis=0):
        """Mixes K float32 tensors, stacked along `axis`; the result lacks that axis."""
        return self.gamma * tf.tensordot(self.layer_weights, layers, [[0], [axis]])
