"""The layers everything else is made of: projection, layer normalisation, dropout.

They work on matrices of tokens [T, width] where T counts the tokens of a whole batch: a plain matrix product
with its bias and activation next to it is what TensorFlow's graph optimizer fuses into one kernel.
Weights are made on construction, since a BERT config fixes every shape.
"""

import functools

import tensorflow as tf
import tf_keras

LAYER_NORM_EPSILON = 1e-12  # the original's `contrib.layers.layer_norm`

ACTIVATIONS = {
    "gelu": functools.partial(tf.nn.gelu, approximate=True),
    "gelu_exact": functools.partial(tf.nn.gelu, approximate=False),
    "relu": tf.nn.relu,
    "tanh": tf.tanh,
    "linear": None,
}


class WeightInitializer:
    """Truncated normal for every kernel and table (the original's `create_initializer`).

    Each call draws from its own stream of `seed`, so a model made in the same order has the same weights.
    """

    def __init__(self, standard_deviation, seed):
        self._standard_deviation = standard_deviation
        self._seed = seed
        self._calls = 0

    def __call__(self, shape, dtype=tf.float32, **unused_keras_options):
        self._calls += 1
        stream = (self._seed, self._calls)
        return self._standard_deviation * tf.random.stateless_truncated_normal(shape, seed=stream, dtype=dtype)


def normalize(x, gamma, beta):
    """x float32 [..., W] to mean 0 and variance 1 over its last axis, times gamma [W], plus beta [W]."""
    # Four passes over [..., W] but for the means; tf.nn.moments and its variance would lead to six.
    centred = x - tf.reduce_mean(x, axis=-1, keepdims=True)
    variance = tf.reduce_mean(tf.square(centred), axis=-1, keepdims=True)
    return beta + centred * (tf.math.rsqrt(variance + LAYER_NORM_EPSILON) * gamma)


class Projection(tf_keras.layers.Layer):
    """activation(x W + b), on matrices.

    Weights: `kernel` [input_width, output_width] and `bias` [output_width].

    Attributes:
      quantization: what multiplies in place of tf.matmul, of bert_tf.compression.quantization; or None.
      adapter: bert_tf.layers.adapter.LowRankAdapter, or None.
    """

    adapter = None
    quantization = None

    def __init__(self, input_width, output_width, initializer, activation="linear", *, name, dtype=None):
        super().__init__(name=name, dtype=dtype)
        with tf.name_scope(name):
            self.kernel = self.add_weight("kernel", [input_width, output_width], initializer=initializer)
            self.bias = self.add_weight("bias", [output_width], initializer="zeros")
        self._activation = ACTIVATIONS[activation]

    def call(self, x, activation=None):
        """x [T, input_width] -> [T, output_width]; activation: what computes it in place of the usual operations."""
        multiply = tf.matmul if self.quantization is None else self.quantization.product
        product = multiply(x, self.kernel)
        if self.adapter is not None:
            product += self.adapter(x)
        y = tf.nn.bias_add(product, self.bias)
        activation = activation or self._activation
        return y if activation is None else activation(y)


    @property
    def whole_kernel(self):
        """The kernel as a tensor, with what the adapter adds."""
        return self.kernel if self.adapter is None else self.kernel + self.adapter.delta()


class LayerNorm(tf_keras.layers.Layer):
    """Normalises the last axis to mean 0 and variance 1, then scales by `gamma` and shifts by `beta`.

    Statistics, `gamma` and `beta` are float32 under mixed precision too.
    """

    def __init__(self, width, *, name="LayerNorm"):
        super().__init__(name=name, dtype="float32", autocast=False)
        with tf.name_scope(name):
            self.beta = self.add_weight("beta", [width], initializer="zeros")
            self.gamma = self.add_weight("gamma", [width], initializer="ones")

    def call(self, x):
        """x [..., width] of any float dtype -> the same shape and dtype."""
        return tf.cast(normalize(tf.cast(x, tf.float32), self.gamma, self.beta), x.dtype)


class Dropout(tf_keras.layers.Layer):
    """Zeroes a share `rate` of the elements and scales the others so that the mean stays.

    An element is decided by 16 random bits, half of what TensorFlow's dropout draws, so the rate is rounded to a
    multiple of 1 / 65536; the scale is that of the rounded rate.
    """

    def __init__(self, rate, *, name="dropout", dtype=None):
        super().__init__(name=name, dtype=dtype)
        self._dropped_values = round(rate * 2**16)  # of the values of 16 bits, how many drop an element
        self.scale = 2**16 / (2**16 - self._dropped_values)

    def call(self, x, seed=None, num_rows=None):
        """x of rank 1 or more; seed int [2], one for each use, or None when not training -> the same shape.

        num_rows: see `mask`.
        """
        if seed is None or not self._dropped_values:
            return x
        return self.drop(x, self.mask(tf.shape(x), seed, num_rows))

    def drop(self, x, keep):
        """x, of which the elements stay where keep, bool of its shape, is True."""
        @tf.custom_gradient
        def drop(x):
            # Not the product again for the gradient: TensorFlow would keep its factor, of floats, from here to there.
            return x * (tf.cast(keep, x.dtype) * self.scale), lambda dy: tf.where(
                keep, dy * self.scale, tf.zeros([], dy.dtype))
        return drop(x)

    def mask(self, shape, seed, num_rows=None):
        """Which elements stay: bool of `shape`, int [rank], or True where all do.

        Args:
          shape: of what elements are dropped of.
          seed: int [2].
          num_rows: int scalar, how many rows the mask is drawn for; those after them stay. None for all.
        """
        if not self._dropped_values:
            return tf.constant(True)
        if num_rows is None:
            return self._draw(shape, seed)
        drawn = self._draw(tf.concat([[num_rows], shape[1:]], axis=0), seed)
        return tf.pad(drawn, [[0, shape[0] - num_rows]] + [[0, 0]] * (shape.shape[0] - 1), constant_values=True)

    def _draw(self, shape, seed):
        """A mask: bool of `shape`, True where an element stays.

        The upper halves of the words drawn decide over the first half of the first axis, the lower over the second.
        Were they neighbours, a TPU would have to move all the bits from where they are drawn to where they are used.
        """
        first_axis = [1] + [0] * (shape.shape[0] - 1)
        half = (shape + first_axis) // [1 + axis for axis in first_axis]  # of the first axis, rounded up
        words = tf.random.stateless_uniform(half, seed, minval=None, maxval=None, dtype=tf.uint32)
        least = tf.constant(self._dropped_values << 16, tf.uint32)  # of the words whose upper half keeps an element
        lower = tf.bitwise.left_shift(words, tf.constant(16, tf.uint32))
        return tf.slice(tf.concat([words >= least, lower >= least], axis=0), [0] * len(first_axis), shape)
