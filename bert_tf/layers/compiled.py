"""Element-wise work of training as blocks that XLA compiles, for CPUs.

TensorFlow's own operations go over memory once each, a GELU and its gradient fifteen times. XLA makes one loop of them,
on all cores: a block takes a third to a fifth of the time. The backward pass computes a block's inner values again from
its inputs, within that loop. Matrix products stay outside, where they are oneDNN's.

A block is compiled once for each shape, in 0.1 to 0.3 s, whatever the number of layers that use it. So the number of
tokens should take few values: see RealTokens.
"""

import functools

import tensorflow as tf

from bert_tf.layers.basic import ACTIVATIONS, normalize

TOKENS_MULTIPLE = 32  # 64 would halve the shapes, but compute 7 % of padding along in a batch of 430 tokens


@functools.cache
def activation(name):
    """The block of one of ACTIVATIONS: [T, W] of any float type -> the same."""
    return _block(ACTIVATIONS[name])


@functools.cache
def add_and_normalize(dropout_scale):
    """The block of a residual connection: dropout, sum and layer normalisation, in float32.

    Args:
      dropout_scale: of the elements that stay.

    Returns:
      A function of x, residual [T, H] of any float type, keep bool [T, H] or [] where all stay, gamma and beta
      float32 [H] -> [T, H] in x's type.
    """
    def compute(x, residual, keep, gamma, beta):
        x32, residual = tf.cast(x, tf.float32), tf.cast(residual, tf.float32)
        dropped = x32 * (tf.cast(keep, tf.float32) * dropout_scale)
        return tf.cast(normalize(dropped + residual, gamma, beta), x.dtype)

    return _block(compute)


def _block(function):
    """`function` of tensors to a tensor, compiled, with a compiled gradient for those of its inputs that are floats."""
    forward = tf.function(function, jit_compile=True, autograph=False)

    @functools.partial(tf.function, jit_compile=True, autograph=False)
    def backward(inputs, upstream):
        floats = [each for each in inputs if each.dtype.is_floating]
        with tf.GradientTape() as tape:
            tape.watch(floats)
            output = function(*inputs)
        return tape.gradient(output, floats, upstream)

    @tf.custom_gradient
    def block(*inputs):
        def gradient(upstream):
            gradients = iter(backward(inputs, upstream))
            return [next(gradients) if each.dtype.is_floating else None for each in inputs]

        return forward(*inputs), gradient

    return block
