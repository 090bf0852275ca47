"""Masks over attention heads and feed-forward neurons, as if some of them did not exist.

A mask is a factor, 1 for a head or neuron that is unchanged. It is applied to the inputs of the
following projection: the concatenated outputs of the heads, and the activations of the feed-forward
layer.

Shape legend: T tokens, B batch, S sequence, N heads, NE neurons, L layers. Layers that share
their weights count as one.
"""

import contextlib

import tensorflow as tf

from bert_tf.layers.hooks import Hook, attach, detach


def get_layers(encoder):
    """Returns the layers of a BertEncoder that have their own weights, in order."""
    return list(dict.fromkeys(encoder.encoder_layers))


@contextlib.contextmanager
def apply_masks(encoder, heads=None, neurons=None):
    """Makes an encoder compute with masks in a context; functions that are traced in it keep them.

    Args:
      encoder: BertEncoder. With masks per example, it must not remove padding.
      heads: L tensors, float [N], or [B, N] for masks per example; None for no masks.
      neurons: L tensors, float [NE] or [B, NE]; None for no masks.
    """
    pairs = []
    for number, layer in enumerate(get_layers(encoder)):
        if heads is not None:
            pairs.append((layer.attention_output, Mask(heads[number], encoder.config.head_width)))
        if neurons is not None:
            pairs.append((layer.output_projection, Mask(neurons[number], 1)))
    try:
        for layer, mask in pairs:
            attach(layer, mask)
        yield
    finally:
        for layer, mask in pairs:
            detach(layer, mask)


class Mask(Hook):
    """A mask, float [N] or [B, N], over the inputs of a Projection.

    Each element applies to `width` of them.
    """

    def __init__(self, mask, width):
        self._mask = mask
        self._width = width

    def product(self, x, kernel, multiply):
        """Multiplies x [T, N * width], after the mask, by a kernel; see `Hook`."""
        # The mask is [B, N], or [1, N] for all tokens.
        mask = tf.reshape(self._mask, [-1, self._mask.shape[-1]])
        factors = tf.repeat(tf.cast(mask, x.dtype), self._width, axis=-1)
        by_example = tf.reshape(x, [tf.shape(mask)[0], -1, x.shape[-1]])  # [B, S, N * width]
        return multiply(tf.reshape(by_example * factors[:, tf.newaxis], tf.shape(x)), kernel)
