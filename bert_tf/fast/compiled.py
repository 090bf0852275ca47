"""Element-wise work of training as blocks that XLA compiles, for CPUs.

TensorFlow's own operations pass over memory once each, a GELU and its gradient fifteen times. XLA
turns them into one loop on all cores: a block takes a third to a fifth of the time. The backward
pass recomputes a block's inner values from its inputs within that loop. Matrix multiplications stay
outside, as oneDNN's kernels, and so does softmax, which gains nothing and has a shape for each
length.

XLA compiles a block once for each shape, in 0.1 to 0.3 s, for all layers that use it. So the number
of tokens should take few values: see UnpaddedLayout.
"""

import functools

import tensorflow as tf

from bert_tf.fast.layers import FastLayer
from bert_tf.layers.basic import ACTIVATIONS, normalize

# 64 would halve the number of shapes, but compute 7% of padding in a batch of 430 tokens.
TOKENS_MULTIPLE = 32


class CompiledLayer(FastLayer):
    """A FastLayer that runs the element-wise work of training as compiled blocks."""

    def feed_forward(self, x, context):
        """Applies the feed-forward network to x [T, H]; compiles its activation in training."""
        if not context.is_training or self.intermediate.activation == "linear":
            return super().feed_forward(x, context)
        activate = get_activation_block(self.intermediate.activation)
        return self.output_projection(activate(self.intermediate(x, activated=False)))

    def add_and_normalize(self, y, x, norm, drop):
        """Returns norm(drop(y) + x), all [T, H], in training as one compiled block."""
        if drop is None:
            return super().add_and_normalize(y, x, norm, drop)
        block = _get_norm_block(drop.scale)
        return block(y, x, drop.keep, *map(tf.convert_to_tensor, (norm.gamma, norm.beta)))


@functools.cache
def get_activation_block(name):
    """Returns the block of one of ACTIVATIONS.

    The block maps [T, width] of any float dtype to the same shape and dtype.
    """
    return _block(ACTIVATIONS[name])


@functools.cache
def _get_norm_block(dropout_scale):
    """Returns the block of a residual connection: dropout, sum, and layer normalization.

    The block computes in float32.

    Args:
      dropout_scale: Factor of the elements that are kept.

    Returns:
      A function of x, residual [T, H] of any float dtype, keep bool [T, H] or [] if all are kept,
      gamma and beta float32 [H] -> [T, H] of x's dtype.
    """

    def compute(x, residual, keep, gamma, beta):
        x32 = tf.cast(x, tf.float32)
        residual = tf.cast(residual, tf.float32)
        dropped = x32 * (tf.cast(keep, tf.float32) * dropout_scale)
        return tf.cast(normalize(dropped + residual, gamma, beta), x.dtype)

    return _block(compute)


def _block(function):
    """Compiles a function of tensors to a tensor, and its gradient for inputs of float dtypes."""
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
            # A branch of tf.cond can only keep the inputs for its gradient if they are read outside
            # of XLA's context.
            gradients = iter(backward([tf.identity(each) for each in inputs], upstream))
            return [next(gradients) if each.dtype.is_floating else None for each in inputs]

        return forward(*inputs), gradient

    return block
