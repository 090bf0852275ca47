"""Masks over attention heads and feed-forward neurons: what a model answers as if some of them were not there.

A mask is a factor, 1 where a head or neuron stays as it is. It goes over what the projection after them reads: the
heads' outputs side by side, and the activations of the feed-forward layer.

Shape legend: B batch, S sequence, N heads of a layer, I neurons of a layer, L layers (those that have weights of their
own, where layers share theirs).
"""

import contextlib
import functools

import tensorflow as tf

from bert_tf.layers import Projection


def layers_of(encoder):
    """The layers of a BertEncoder that have weights of their own, in order."""
    return list(dict.fromkeys(encoder.encoder_layers))


@contextlib.contextmanager
def masked(encoder, heads=None, neurons=None):
    """A context in which an encoder computes with masks; functions that are traced in it keep them.

    Args:
      encoder: BertEncoder. With masks of examples it must not remove padding.
      heads: L tensors, float [N], or [B, N] with masks of each example's own; None for none.
      neurons: L tensors, float [I] or [B, I]; None for none.
    """
    masks = []  # of each projection that reads what is masked: the mask, and how many columns each number is for
    for number, layer in enumerate(layers_of(encoder)):
        if heads is not None:
            masks.append((layer.attention_output, heads[number], encoder.config.head_width))
        if neurons is not None:
            masks.append((layer.output_projection, neurons[number], 1))
    try:
        for projection, mask, width in masks:
            # Past Keras, which would track it.
            vars(projection)["call"] = functools.partial(_call, projection, mask, width)
        yield
    finally:
        for projection, _, _ in masks:
            vars(projection).pop("call", None)


def _call(projection, mask, width, x, **options):
    """Projection.call of x [T, N * width], times its mask [N] or [B, N]."""
    factors = tf.repeat(tf.cast(mask, x.dtype), width, axis=-1)
    if mask.shape.rank == 1:
        return Projection.call(projection, x * factors, **options)
    by_example = tf.reshape(x, [tf.shape(mask)[0], -1, x.shape[-1]])  # [B, S, N * width]
    return Projection.call(projection, tf.reshape(by_example * factors[:, tf.newaxis], tf.shape(x)), **options)
