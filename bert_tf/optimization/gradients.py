"""Gradients of parts of a batch: what replicas and micro-batches hand over so that one norm can be taken.

The original clips by a global norm in which a sparse gradient counts by its slices, before duplicate rows are summed
(`tf.clip_by_global_norm` on IndexedSlices). The slices of all parts are those of the whole batch, so the sum of their
squares is too. A dense gradient must be summed over the parts first.
"""

import typing

import tensorflow as tf


class MergedSlices(typing.NamedTuple):
    """A sparse gradient after its slices were summed row by row. Those of two parts add up field by field.

    Attributes:
      values: float32, the shape of the variable.
      squared_norm: float32 scalar, the sum of squares of the slices.
    """

    values: tf.Tensor
    squared_norm: tf.Tensor


def merge(gradient):
    """A dense gradient as it is; IndexedSlices as MergedSlices."""
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    return MergedSlices(tf.convert_to_tensor(gradient), 2 * tf.nn.l2_loss(gradient.values))


def values_of(gradient):
    """The dense values of what `merge` returns."""
    return gradient.values if isinstance(gradient, MergedSlices) else gradient


def global_norm(gradients):
    """The norm of all gradients of a batch together.

    Args:
      gradients: each as `merge` returns it, summed over micro-batches and replicas.

    Returns:
      float32 scalar.
    """
    halves = [gradient.squared_norm / 2 if isinstance(gradient, MergedSlices) else tf.nn.l2_loss(gradient)
              for gradient in gradients]
    return tf.sqrt(2 * tf.add_n(halves))
