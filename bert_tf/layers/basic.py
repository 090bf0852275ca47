"""The layers that the others consist of: projection, layer normalization, and dropout.

Weights are created on construction, since a BERT config fixes every shape, so a model can be loaded
before it is called.

Shape legend: T tokens, B batch, S sequence, HI inputs of a matrix multiplication, HO outputs of a
matrix multiplication.
"""

import contextlib
import contextvars
import functools

import tensorflow as tf
import tf_keras

from bert_tf.saved_objects import SavedLayer

LAYER_NORM_EPSILON = 1e-12  # The value of the original's `contrib.layers.layer_norm`.

ACTIVATIONS = {
    "gelu": functools.partial(tf.nn.gelu, approximate=True),
    "gelu_exact": functools.partial(tf.nn.gelu, approximate=False),
    "relu": tf.nn.relu,
    "tanh": tf.tanh,
    "linear": None,
}


_creates_zeros = contextvars.ContextVar("_creates_zeros", default=False)


@contextlib.contextmanager
def zero_weights():
    """Creates models with zeros instead of random weights, which a checkpoint then replaces.

    For MiniLM, random numbers for all weights took a quarter of the time after the imports.
    """
    token = _creates_zeros.set(True)
    try:
        yield
    finally:
        _creates_zeros.reset(token)


class WeightInitializer:
    """Truncated normal for all kernels and embeddings (the original's `create_initializer`).

    Each call uses its own stream of `seed`: layers that are created in the same order get the same
    weights. In the context `zero_weights`, weights are zeros.

    Args:
      standard_deviation: float.
      seed: int. Seed of all streams.
    """

    def __init__(self, standard_deviation, seed):
        self._standard_deviation = standard_deviation
        self.seed = seed
        self._calls = 0

    def __call__(self, shape, dtype=tf.float32, **unused_keras_options):
        if _creates_zeros.get():
            return tf.zeros(shape, dtype)
        self._calls += 1
        stream = (self.seed, self._calls)
        return self._standard_deviation * tf.random.stateless_truncated_normal(
            shape, seed=stream, dtype=dtype
        )


class Projection(SavedLayer, tf_keras.layers.Layer):
    """A linear layer with an activation: activation(x W + b).

    Weights: `kernel` [input_width, output_width] and `bias` [output_width].
    """

    def __init__(
        self, input_width, output_width, initializer, activation="linear", *, name, dtype=None
    ):
        super().__init__(name=name, dtype=dtype)
        with tf.name_scope(name):
            # Cast in `call`, not by Keras, because the layers of bert_tf.fast cast parts of it.
            self.kernel = self.add_weight(
                "kernel",
                [input_width, output_width],
                initializer=initializer,
                experimental_autocast=False,
            )
            self.bias = self.add_weight("bias", [output_width], initializer="zeros")
        self.activation = activation

    def call(self, x, activated=True):
        """Projects x [..., input_width] to [..., output_width].

        Args:
          x: Tensor of any float dtype.
          activated: bool. Whether to apply the activation.
        """
        y = tf.nn.bias_add(multiply(x, tf.cast(self.kernel, x.dtype), self.hooks), self.bias)
        activate = ACTIVATIONS[self.activation]
        return activate(y) if activated and activate else y


def multiply(x, kernel, hooks=()):
    """Returns x [T, HI] or [B, S, HI] times kernel [HI, HO], through the hooks of a layer."""
    product = _matmul
    for hook in hooks:
        product = functools.partial(hook.product, multiply=product)
    return product(x, kernel)


def _matmul(x, kernel):
    # XLA would copy the kernel for each sequence in a tf.matmul.
    return tf.matmul(x, kernel) if x.shape.rank == 2 else tf.einsum("bsk,km->bsm", x, kernel)


class LayerNorm(SavedLayer, tf_keras.layers.Layer):
    """Layer normalization over the last axis.

    It normalizes to mean 0 and variance 1, then scales by `gamma` and shifts by `beta`. Statistics,
    `gamma`, and `beta` are float32 under any dtype policy.
    """

    def __init__(self, width):
        super().__init__(name="LayerNorm", dtype="float32", autocast=False)
        with tf.name_scope("LayerNorm"):
            self.beta = self.add_weight("beta", [width], initializer="zeros")
            self.gamma = self.add_weight("gamma", [width], initializer="ones")

    def call(self, x):
        """Normalizes x [..., width] of any float dtype, and returns the same shape and dtype."""
        return tf.cast(normalize(tf.cast(x, tf.float32), self.gamma, self.beta), x.dtype)


def normalize(x, gamma, beta):
    """Normalizes x over its last axis to mean 0 and variance 1, then scales and shifts it.

    Args:
      x: float32 [..., width].
      gamma, beta: float32 [width]. Scale and shift.

    Returns:
      float32 [..., width].
    """
    # Fewer passes over x than tf.nn.moments takes.
    centered = x - tf.reduce_mean(x, axis=-1, keepdims=True)
    variance = tf.reduce_mean(tf.square(centered), axis=-1, keepdims=True)
    return beta + centered * (tf.math.rsqrt(variance + LAYER_NORM_EPSILON) * gamma)


class SeededDropout(SavedLayer, tf_keras.layers.Layer):
    """Dropout by a seed.

    It zeroes a fraction `rate` of the elements, and scales the others so that the mean stays the
    same.
    """

    def __init__(self, rate, *, dtype=None):
        super().__init__(name="dropout", dtype=dtype)
        self.rate = rate

    def call(self, x, seed=None):
        """Applies dropout to x of any shape, and returns the same shape.

        Args:
          x: Tensor of a float dtype.
          seed: int [2], a new one for each use; None when not training.
        """
        return x if seed is None else tf.nn.experimental.stateless_dropout(x, self.rate, seed)
