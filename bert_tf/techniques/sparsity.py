"""Single weights of the encoder's matrices set to 0 while a model is fine-tuned, by magnitude.

The largest weights of each matrix stay (Zhu and Gupta 2017). What is 0 once stays 0, so that the weights themselves say
which are gone.

The share that stays falls by a cubic schedule. A dense product of a matrix with many zeros takes as long as of any
other: this is for files that compress, and for research.

Shape legend: K inputs of a matrix, M outputs.
"""

import dataclasses
import functools
import zlib

import tensorflow as tf

from bert_tf.techniques.masks import layers_of

REFRESHES = 100  # how often in the course of the schedule weights are chosen anew


@dataclasses.dataclass(frozen=True)
class PruningSchedule:
    """How many weights stay: all until `begin`, the share `keep` from `end` on, and between them by a cube.

    Attributes:
      keep: float over 0, at most 1.
      begin, end: int, numbers of training steps.
    """

    keep: float
    begin: int
    end: int

    def share(self, step):
        """What share of the weights stays after `step` steps, int scalar -> float32 scalar."""
        done = tf.cast(step - self.begin, tf.float32) / max(1, self.end - self.begin)
        return self.keep + (1.0 - self.keep) * tf.pow(1.0 - tf.clip_by_value(done, 0.0, 1.0), 3.0)

    def is_due(self, step):
        """Whether the weights that stay are chosen anew after `step` steps, bool scalar."""
        interval = max(1, (self.end - self.begin) // REFRESHES)
        within = (step > self.begin) & (step < self.end) & ((step - self.begin) % interval == 0)
        return within | tf.equal(step, self.end)

    def threshold(self, values, step):
        """The least of `values`, float32 of any shape, that stays after `step` steps."""
        count = tf.round(self.share(step) * values.shape.num_elements())
        return kth_largest(values, tf.maximum(1, tf.cast(count, tf.int32)))


def prune_in_training(schedule, encoder, optimizer):
    """Has an optimizer leave fewer and fewer weights of the matrices of an encoder's layers.

    Args:
      schedule: PruningSchedule.
      encoder: BertEncoder.
      optimizer: of bert_tf.optimization, that trains it.
    """
    optimizer.set_rules([(layer.kernel, functools.partial(_update, schedule)) for layer in matrices(encoder)])


def matrices(encoder):
    """The projections of a BertEncoder's layers, in order: those whose matrices are pruned."""
    return [projection for layer in layers_of(encoder) for projection in (
        layer.attention.qkv, layer.attention_output, layer.intermediate, layer.output_projection)]


def kth_largest(values, count):
    """The number that exactly `count` of `values` reach, or more where some are equal.

    Args:
      values: float32 of any shape, none of them NaN.
      count: int32 scalar, 1 to their number.

    Returns:
      float32 scalar.
    """
    # Bits of floats, as whole numbers, are in the order of the floats, or of those below 0 in the reverse. So 32 times
    # the numbers are counted; to sort them takes ten times as long.
    bits = tf.bitcast(values, tf.int32)
    order = tf.where(bits < 0, tf.bitwise.bitwise_xor(bits, tf.int32.max), bits)

    def halve(least, most):
        middle = least + (most - least + 1) // 2
        is_reached = tf.math.count_nonzero(order >= tf.cast(middle, tf.int32), dtype=tf.int32) >= count
        return tf.where(is_reached, middle, least), tf.where(is_reached, most, middle - 1)

    bounds = tf.constant(tf.int32.min, tf.int64), tf.constant(tf.int32.max, tf.int64)
    found = tf.cast(tf.while_loop(lambda least, most: least < most, halve, bounds)[0], tf.int32)
    return tf.bitcast(tf.where(found < 0, tf.bitwise.bitwise_xor(found, tf.int32.max), found), tf.float32)


def share_of_weights(encoder):
    """How many weights of a BertEncoder's matrices are not 0, and how many there are."""
    kernels = [layer.kernel for layer in matrices(encoder)]
    stay = sum(int(tf.math.count_nonzero(kernel.read_value())) for kernel in kernels)
    return stay, sum(kernel.shape.num_elements() for kernel in kernels)


def compressed_bytes(variables):
    """How many bytes the values of variables take, and how many after compression as gzip's."""
    total, compressed, compressor = 0, 0, zlib.compressobj()
    for variable in variables:
        data = variable.numpy().tobytes()
        total += len(data)
        compressed += len(compressor.compress(data))
    return total, compressed + len(compressor.flush())


def _update(schedule, kernel, step, move):
    """Updates a matrix; step: how many are done before; move: a function that moves it."""
    stays = (kernel.read_value() != 0) | (step < schedule.begin)
    with tf.control_dependencies([stays]):  # read before, so that nothing has to be copied
        move()
    values = tf.where(stays, kernel.read_value(), 0.0)

    def largest():
        sizes = tf.abs(values)
        return tf.where(sizes >= schedule.threshold(sizes, step + 1), values, 0.0)
    kernel.assign(tf.cond(schedule.is_due(step + 1), largest, lambda: values))
