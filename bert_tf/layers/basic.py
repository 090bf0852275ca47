"""The layers that the others consist of: projection, layer normalization, and dropout.

They work on matrices [T, width], where T is the number of tokens of a batch: TensorFlow's graph optimizer fuses a
matrix multiplication with the bias and the activation that follow it.
Weights are created on construction, since a BERT config fixes every shape.
"""

import functools
import typing

import tensorflow as tf
import tf_keras

from bert_tf.layers import hooks
from bert_tf.saved_objects import SavedLayer, SavedObject

LAYER_NORM_EPSILON = 1e-12  # the original's `contrib.layers.layer_norm`

ACTIVATIONS = {
    "gelu": functools.partial(tf.nn.gelu, approximate=True),
    "gelu_exact": functools.partial(tf.nn.gelu, approximate=False),
    "relu": tf.nn.relu,
    "tanh": tf.tanh,
    "linear": None,
}


class WeightInitializer(SavedObject):
    """Truncated normal for every kernel and embedding (the original's `create_initializer`).

    Each call uses its own stream of `seed`: layers that are created in the same order get the same weights.

    Args:
      standard_deviation: float.
      seed: int.
      calls: int. Number of streams that are already used.
    """

    def __init__(self, standard_deviation, seed, calls=0):
        self._standard_deviation = standard_deviation
        self._seed = seed
        self._calls = calls

    @property
    def seed(self):
        """The seed of all streams."""
        return self._seed

    def __call__(self, shape, dtype=tf.float32, **unused_keras_options):
        self._calls += 1
        stream = (self._seed, self._calls)
        return self._standard_deviation * tf.random.stateless_truncated_normal(shape, seed=stream, dtype=dtype)

    def get_config(self):
        """Returns the arguments of an initializer that continues with the next stream."""
        return {**super().get_config(), "calls": self._calls}


def normalize(x, gamma, beta):
    """Normalizes x float32 [..., W] to mean 0 and variance 1 over its last axis, then scales and shifts by [W]."""
    # Fewer passes over x than tf.nn.moments takes.
    centered = x - tf.reduce_mean(x, axis=-1, keepdims=True)
    variance = tf.reduce_mean(tf.square(centered), axis=-1, keepdims=True)
    return beta + centered * (tf.math.rsqrt(variance + LAYER_NORM_EPSILON) * gamma)


class Projection(SavedLayer, tf_keras.layers.Layer):
    """activation(x W + b), on matrices.

    Weights: `kernel` [input_width, output_width] and `bias` [output_width].

    Attributes:
      hooks: tuple of Hook, which change the product; see bert_tf.layers.hooks.
    """

    hooks = ()

    def __init__(self, input_width, output_width, initializer, activation="linear", *, name, dtype=None):
        super().__init__(name=name, dtype=dtype)
        with tf.name_scope(name):
            # Each multiplication casts it, because bert_tf.fast.einsum casts its parts.
            self.kernel = self.add_weight("kernel", [input_width, output_width], initializer=initializer,
                                          experimental_autocast=False)
            self.bias = self.add_weight("bias", [output_width], initializer="zeros")
        self._activation = ACTIVATIONS[activation]

    def call(self, x, activated=True):
        """x [T, input_width] -> [T, output_width]; activated: bool. Whether to apply the activation."""
        y = tf.nn.bias_add(hooks.multiply(self, x, tf.cast(self.kernel, x.dtype)), self.bias)
        return self._activation(y) if activated and self._activation else y


class LayerNorm(SavedLayer, tf_keras.layers.Layer):
    """Normalizes the last axis to mean 0 and variance 1, then scales by `gamma` and shifts by `beta`.

    Statistics, `gamma`, and `beta` are float32 under any dtype policy.
    """

    def __init__(self, width, *, name="LayerNorm"):
        super().__init__(name=name, dtype="float32", autocast=False)
        with tf.name_scope(name):
            self.beta = self.add_weight("beta", [width], initializer="zeros")
            self.gamma = self.add_weight("gamma", [width], initializer="ones")

    def call(self, x):
        """x [..., width] of any float dtype -> the same shape and dtype."""
        return tf.cast(normalize(tf.cast(x, tf.float32), self.gamma, self.beta), x.dtype)


class Drop(typing.NamedTuple):
    """The elements that one use of dropout zeroes, already sampled.

    Attributes:
      keep: bool, of the shape of a tensor. True for elements to keep; a scalar if all are kept.
      scale: float. Factor of the elements that are kept.
    """

    keep: tf.Tensor
    scale: float

    def __call__(self, x):
        """x of keep's shape -> the same shape."""
        if not self.keep.shape.rank:
            return x

        @tf.custom_gradient
        def drop(x):
            # Do not write the gradient as the same product: TensorFlow would keep its float factor until then.
            return x * (tf.cast(self.keep, x.dtype) * self.scale), lambda dy: tf.where(
                self.keep, dy * self.scale, tf.zeros([], dy.dtype))
        return drop(x)


class SeededDropout(SavedLayer, tf_keras.layers.Layer):
    """Zeroes a fraction `rate` of the elements and scales the others so that the mean stays the same.

    16 random bits decide about an element, half as many as in TensorFlow's dropout. Therefore, the rate is rounded to a
    multiple of 1 / 65536, and the scale follows from the rounded rate.
    """

    def __init__(self, rate, *, name="dropout", dtype=None):
        super().__init__(name=name, dtype=dtype)
        self._dropped_values = round(rate * 2**16)  # of the values of 16 bits, this many drop an element
        self.scale = 2**16 / (2**16 - self._dropped_values)

    def call(self, x, seed=None):
        """x of rank 1 or more; seed int [2], a new one for each use, or None when not training -> the same shape."""
        return x if seed is None or not self._dropped_values else self.draw(tf.shape(x), seed)(x)

    def draw(self, shape, seed, draw_words=None):
        """Draws the Drop for a tensor.

        Args:
          shape: int [rank].
          seed: int [2].
          draw_words: Callable (shape, seed) that returns 32 random bits for each element, uint32. If None, each word
            decides about two elements.

        Returns:
          Drop.
        """
        if not self._dropped_values:
            return Drop(tf.constant(True), self.scale)
        least = tf.constant(self._dropped_values << 16, tf.uint32)  # of the words whose upper half keeps an element
        if draw_words:
            return Drop(draw_words(shape, seed) >= least, self.scale)
        # The upper halves of the words drawn decide on the first half of the first axis, the lower ones on the second.
        # Two neighbors that share a word would have to be moved apart.
        first_axis = [1] + [0] * (shape.shape[0] - 1)
        half = (shape + first_axis) // [1 + axis for axis in first_axis]  # of the first axis, rounded up
        words = tf.random.stateless_uniform(half, seed, minval=None, maxval=None, dtype=tf.uint32)
        lower = tf.bitwise.left_shift(words, tf.constant(16, tf.uint32))
        keep = tf.slice(tf.concat([words >= least, lower >= least], axis=0), [0] * len(first_axis), shape)
        return Drop(keep, self.scale)
