"""Prunes single weights of the encoder's matrices by magnitude while a model is fine-tuned.

The largest weights of each matrix are kept (Zhu and Gupta 2017). A weight that is 0 stays 0, so the weights themselves
record which ones are pruned.

The fraction of kept weights falls by a cubic schedule. Dense matrix multiplications are not faster with many zeros:
this is for files that compress well, and for research.

Shape legend: K inputs of a matrix, M outputs.
"""

import dataclasses
import functools
import zlib

import tensorflow as tf

from bert_tf.techniques.masks import get_layers

REFRESHES = 100  # Number of times that weights are selected during the schedule.


@dataclasses.dataclass(frozen=True)
class PruningSchedule:
    """The fraction of weights to keep: 1 until `begin`, `keep` starting at `end`, and cubic between them.

    Attributes:
      keep: float over 0, at most 1.
      begin, end: int. Training steps.
    """

    keep: float
    begin: int
    end: int

    def share(self, step):
        """Returns the fraction of weights to keep after `step` steps, int scalar -> float32 scalar."""
        done = tf.cast(step - self.begin, tf.float32) / max(1, self.end - self.begin)
        return self.keep + (1.0 - self.keep) * tf.pow(1.0 - tf.clip_by_value(done, 0.0, 1.0), 3.0)

    def is_due(self, step):
        """Returns whether to select the weights to keep again after `step` steps, bool scalar."""
        interval = max(1, (self.end - self.begin) // REFRESHES)
        within = (step > self.begin) & (step < self.end) & ((step - self.begin) % interval == 0)
        return within | tf.equal(step, self.end)

    def threshold(self, values, step):
        """Returns the minimum of `values`, float32 of any shape, to keep after `step` steps."""
        count = tf.round(self.share(step) * values.shape.num_elements())
        return kth_largest(values, tf.maximum(1, tf.cast(count, tf.int32)))


def prune_in_training(schedule, encoder, optimizer):
    """Makes an optimizer gradually prune the matrices of an encoder's layers.

    Args:
      schedule: PruningSchedule.
      encoder: BertEncoder.
      optimizer: Optimizer of bert_tf.optimization that trains the encoder.
    """
    optimizer.set_rules([(layer.kernel, functools.partial(_update, schedule)) for layer in matrices(encoder)])


def matrices(encoder):
    """Returns the projections of a BertEncoder's layers, whose matrices are pruned, in order."""
    return [projection for layer in get_layers(encoder) for projection in (
        layer.attention.qkv, layer.attention_output, layer.intermediate, layer.output_projection)]


def kth_largest(values, count):
    """Returns the number that exactly `count` of `values` reach, or more in case of ties.

    Args:
      values: float32 of any shape, without NaN.
      count: int32 scalar, from 1 to the number of values.

    Returns:
      float32 scalar.
    """
    # The bits of floats, as integers, have the same order as the floats, or the reverse order below 0. Therefore, a
    # binary search counts the numbers 32 times; sorting takes ten times as long.
    bits = tf.bitcast(values, tf.int32)
    order = tf.where(bits < 0, tf.bitwise.bitwise_xor(bits, tf.int32.max), bits)

    def halve(least, most):
        middle = least + (most - least + 1) // 2
        is_reached = tf.math.count_nonzero(order >= tf.cast(middle, tf.int32), dtype=tf.int32) >= count
        return tf.where(is_reached, middle, least), tf.where(is_reached, most, middle - 1)

    bounds = tf.constant(tf.int32.min, tf.int64), tf.constant(tf.int32.max, tf.int64)
    result = tf.cast(tf.while_loop(lambda least, most: least < most, halve, bounds)[0], tf.int32)
    return tf.bitcast(tf.where(result < 0, tf.bitwise.bitwise_xor(result, tf.int32.max), result), tf.float32)


def count_remaining_weights(encoder):
    """Returns the number of nonzero weights of a BertEncoder's matrices, and the number of all their weights."""
    kernels = [layer.kernel for layer in matrices(encoder)]
    stay = sum(int(tf.math.count_nonzero(kernel.read_value())) for kernel in kernels)
    return stay, sum(kernel.shape.num_elements() for kernel in kernels)


def measure_compressed_size(variables):
    """Returns the size of the values of variables in bytes, without and with gzip-like compression."""
    total, compressed, compressor = 0, 0, zlib.compressobj()
    for variable in variables:
        data = variable.numpy().tobytes()
        total += len(data)
        compressed += len(compressor.compress(data))
    return total, compressed + len(compressor.flush())


def _update(schedule, kernel, step, move):
    """Updates a matrix; `step` is the number of previous steps, and `move` performs the usual update."""
    is_kept = (kernel.read_value() != 0) | (step < schedule.begin)
    with tf.control_dependencies([is_kept]):  # read before the update, to avoid a copy
        move()
    values = tf.where(is_kept, kernel.read_value(), 0.0)

    def largest():
        sizes = tf.abs(values)
        return tf.where(sizes >= schedule.threshold(sizes, step + 1), values, 0.0)
    kernel.assign(tf.cond(schedule.is_due(step + 1), largest, lambda: values))
