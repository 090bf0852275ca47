"""Single weights of the encoder's matrices set to 0 while a model is fine-tuned, by magnitude or by movement.

By magnitude (Zhu and Gupta 2017): the largest weights of each matrix stay. What is 0 once stays 0, so that the weights
themselves say which are gone. By movement (Sanh et al. 2020): each weight has a score, which rises while training moves
the weight away from 0 and falls while it moves it towards 0; the weights with the highest scores of each matrix stay,
and others come back when their scores rise. From the end of the schedule on both are alike: what is gone is 0.

The share that stays falls by a cubic schedule. A dense product of a matrix with many zeros takes as long as of any
other: this is for files that compress, and for research.

Shape legend: K inputs of a matrix, M outputs.
"""

import dataclasses
import functools
import zlib

import tensorflow as tf

from bert_tf.compression.masks import layers_of
from bert_tf.errors import InputError

METHODS = ("magnitude", "movement")
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

    def has_ended(self, step):
        """Whether what is gone stays gone, bool scalar."""
        return step >= self.end

    def threshold(self, values, step):
        """The least of `values`, float32 of any shape, that stays after `step` steps."""
        count = tf.round(self.share(step) * values.shape.num_elements())
        return kth_largest(values, tf.maximum(1, tf.cast(count, tf.int32)))


class WeightPruning:
    """The matrices of an encoder's layers in training, of which fewer and fewer weights stay.

    Args:
      method: "magnitude" or "movement".
      schedule: PruningSchedule.
      encoder: BertEncoder, before a function of it is traced. To be called in the strategy's scope.
      optimizer: of bert_tf.optimization, that trains it.

    Attributes:
      scores: the variables that are trained beside the model's, one for each matrix, of its shape; by magnitude none.
      kept: dict of name -> what has to be kept in checkpoints beside the model.

    Raises:
      InputError: movement, and attention is computed for TPUs.
    """

    def __init__(self, method, schedule, encoder, optimizer):
        self.scores, self.kept = [], {}
        layers = matrices(encoder)
        if method == "magnitude":
            optimizer.set_rules([(layer.kernel, functools.partial(_by_magnitude, schedule)) for layer in layers])
            return
        if any(layer.attention.use_einsum for layer in encoder.encoder_layers):
            raise InputError("attention that is computed for TPUs cannot be pruned by movement")
        thresholds, rules = [], []
        for number, layer in enumerate(layers):
            scores = tf.Variable(tf.zeros(layer.kernel.shape), name=f"pruning_scores_{number}")
            threshold = tf.Variable(tf.float32.min, trainable=False, name=f"pruning_threshold_{number}")
            self.scores.append(scores)
            thresholds.append(threshold)
            rules += [(layer.kernel, functools.partial(_by_movement, schedule, scores)),
                      (scores, functools.partial(_moving_scores, schedule, threshold))]
            # Past Keras, which would make weights of the model of them.
            vars(layer)["masked"] = functools.partial(_masked, schedule, optimizer, scores, threshold)
        optimizer.set_rules(rules)
        self.kept = {"pruning_scores": self.scores, "pruning_thresholds": thresholds}


class PrunedInTraining:
    """What a training step runs: a network, with the scores of a WeightPruning trained beside its variables."""

    def __init__(self, network, pruning):
        self._network, self._pruning = network, pruning
        self.compute_dtype = network.compute_dtype

    @property
    def trainable_variables(self):
        """The network's, then the scores."""
        return [*self._network.trainable_variables, *self._pruning.scores]

    def __call__(self, features, training=False):
        """The network's outputs."""
        return self._network(features, training=training)


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


def _masked(schedule, optimizer, scores, threshold, kernel):
    """A matrix with 0 for what is gone; the gradient of its scores is as if each factor were its score."""
    step = optimizer.iterations
    stays = (scores >= threshold) | schedule.has_ended(step)
    moves = tf.where(schedule.has_ended(step), 0.0, 1.0)

    @tf.custom_gradient
    def mask(kernel, scores):
        factors = tf.cast(stays, kernel.dtype)

        def gradient(dy):
            return dy * factors, tf.cast(dy, scores.dtype) * tf.cast(kernel, scores.dtype) * moves
        return kernel * factors, gradient
    return mask(tf.convert_to_tensor(kernel), tf.convert_to_tensor(scores))


# How a variable is updated: (variable, steps done before, function that moves it).


def _by_magnitude(schedule, kernel, step, move):
    values = _moved(kernel, (kernel.read_value() != 0) | (step < schedule.begin), move)

    def largest():
        sizes = tf.abs(values)
        return tf.where(sizes >= schedule.threshold(sizes, step + 1), values, 0.0)
    kernel.assign(tf.cond(schedule.is_due(step + 1), largest, lambda: values))


def _by_movement(schedule, scores, kernel, step, move):
    values = _moved(kernel, (kernel.read_value() != 0) | (step < schedule.end), move)

    def highest():
        return tf.where(scores >= schedule.threshold(scores.read_value(), step + 1), values, 0.0)
    kernel.assign(tf.cond(tf.equal(step + 1, schedule.end), highest, lambda: values))


def _moving_scores(schedule, threshold, scores, step, move):
    move()
    threshold.assign(tf.cond(schedule.is_due(step + 1),
                             lambda: schedule.threshold(scores.read_value(), step + 1), threshold.read_value))


def _moved(kernel, stays, move):
    """Moves a matrix; returns its values, with 0 where `stays`, bool of its shape, is False."""
    with tf.control_dependencies([stays]):  # read before, so that nothing has to be copied
        move()
    return tf.where(stays, kernel.read_value(), 0.0)
