"""Gradients of the parts of a batch, in the form in which replicas and micro-batches can compute one global norm.

The original clips by a global norm that includes a sparse gradient by its slices, before duplicate rows are summed
(`tf.clip_by_global_norm` on IndexedSlices). The slices of the parts together make up those of the batch, so the sums of
their squares add up. A dense gradient must be summed over the parts first.
"""

import typing

import tensorflow as tf


class MergedSlices(typing.NamedTuple):
    """A sparse gradient after its slices were summed per row. To add up two parts, add each field."""

    values: tf.Tensor  # float32, with the shape of the variable.
    squared_norm: tf.Tensor  # float32 scalar. Sum of squares of the slices.


def merge(gradient):
    """Converts IndexedSlices to MergedSlices; returns a dense gradient unchanged."""
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    return MergedSlices(tf.convert_to_tensor(gradient), 2 * tf.nn.l2_loss(gradient.values))


def get_values(gradient):
    """Returns the dense values of a result of `merge`."""
    return gradient.values if isinstance(gradient, MergedSlices) else gradient


def global_norm(gradients):
    """Computes the norm, float32 scalar, of results of `merge`, summed over micro-batches and replicas."""
    halves = [gradient.squared_norm / 2 if isinstance(gradient, MergedSlices) else tf.nn.l2_loss(gradient)
              for gradient in gradients]
    return tf.sqrt(2 * tf.add_n(halves))
