"""Training steps under a tf.distribute strategy.

The step is the same on any number of devices. Losses, gradients, and gradient clipping apply to the
entire batch of `train_batch_size` examples, however it is split into replicas and micro-batches.
"""

import functools

import tensorflow as tf
import tf_keras

from bert_tf.optimization.optimizer import merge_slices
from run.training import host_batches


def count_batch_tokens(features):
    """Returns the number of non-padding tokens in a part of a batch, float32 scalar."""
    return tf.reduce_sum(tf.cast(features["input_mask"] > 0, tf.float32))


# Quantities that a step reports in addition to its losses, by name: functions of the features,
# summed over replicas.
REPORTED = {"tokens": count_batch_tokens}


def keep_last(before, value):
    """Returns a value, or the one before if it is not finite, as in a step that is skipped."""
    return tf.where(tf.math.is_finite(value), value, before)


def keep_largest(before, value):
    """Returns the larger of a value, unless it is not finite, and the one before."""
    return tf.maximum(before, keep_last(before, value))


# Values of the updates of a loop of steps, by name: a function of the Update of a step, and one of
# the value of the steps before (0 before the first step) and this step's.
LOGGED = {
    "learning_rate": (lambda update: update.rate, keep_last),
    "gradient_norm": (lambda update: update.norm, keep_last),
    "largest_gradient_norm": (lambda update: update.norm, keep_largest),
}


class Trainer:
    """Runs steps (forward, loss, backward, update) on every replica.

    A step whose loss or gradients are not finite updates nothing, and neither does any later step.
    Variables and optimizer state remain as after the last good step, and `first_bad_step` is set.
    An overflow of scaled gradients is not a bad step: the scale decreases, and that batch is
    skipped.

    Args:
      strategy: tf.distribute.Strategy under whose scope the model and the optimizer were created.
      model: Callable of features and `training=True` that returns outputs.
      optimizer: Optimizer of `bert_tf.optimization`. The loss is multiplied by its loss scale.
      loss: `bert_tf.losses.TotalLoss`.
      accumulate_steps: int. Gradient accumulation: number of micro-batches per update on each
        replica, run in sequence.
      jit_compile: bool. Whether XLA compiles forward and backward pass. Requires padded batches.

    Attributes:
      batches: Dataset of the replicas' batches. See `set_dataset`.
    """

    def __init__(self, strategy, model, optimizer, loss, *, accumulate_steps=1, jit_compile=False):
        self._strategy = strategy
        self._model = model
        self._optimizer = optimizer
        self._loss = loss
        self._accumulate_steps = accumulate_steps
        self._jit_compile = jit_compile
        self.batches = self._iterator = None
        # AutoGraph would write its conversions to files, which a killed run does not delete.
        self._run_steps = tf.function(self._repeat_step, autograph=False)
        with strategy.scope():
            self._means = {name: tf_keras.metrics.Mean(name) for name in (*loss.names, *REPORTED)}
            options = {
                "trainable": False,
                "aggregation": tf.VariableAggregation.ONLY_FIRST_REPLICA,
            }
            self._logged = {name: tf.Variable(0.0, **options) for name in LOGGED}
            self._first_bad_step = tf.Variable(0, dtype=tf.int64, **options)

    @property
    def first_bad_step(self):
        """First step (int, 1-based) whose loss or gradients were not finite; None if there is none.

        Read it between loops of steps. The weights are from step first_bad_step - 1, although the
        step counter has advanced to the end of the loop.
        """
        return int(self._first_bad_step.numpy()) or None

    def set_dataset(self, make_batches):
        """Sets the datasets to train on.

        Args:
          make_batches: Callable (HostShare) -> endless dataset of that host's rows of each batch.
            See `run.training.host_batches`. `strategies.check_batch_size` checks their number.
        """
        self.batches = host_batches.distribute(self._strategy, make_batches, is_endless=True)
        self._iterator = None

    def train(self, num_steps):
        """Runs steps on the next batches.

        Args:
          num_steps: int, or int32 scalar.

        Returns:
          Dict of name to float. Mean over the steps of each loss and of REPORTED, and the values of
          LOGGED.
        """
        for mean in self._means.values():
            mean.reset_state()
        for variable in self._logged.values():
            variable.assign(0.0)
        if self._iterator is None:
            self._iterator = iter(self.batches)
        self._run_steps(self._iterator, tf.convert_to_tensor(num_steps, tf.int32))
        means = {name: float(mean.result()) for name, mean in self._means.items()}
        return means | {name: float(variable.numpy()) for name, variable in self._logged.items()}

    def _repeat_step(self, iterator, num_steps):
        """Runs `num_steps` steps, an int32 scalar, in one loop of the graph."""
        tf.while_loop(
            lambda number: number < num_steps,
            functools.partial(self.train_step, iterator),
            [tf.zeros_like(num_steps)],
        )

    def train_step(self, iterator, number=0):
        """Runs one step on the next batch of an iterator, and returns `number` + 1.

        Call it within a tf.function.
        """
        with tf.name_scope(""):  # Otherwise the names of all operations would begin with "while/".
            self._strategy.run(self._replica_step, args=(next(iterator),))
        return number + 1

    @tf.autograph.experimental.do_not_convert  # Nothing to convert; the search takes seconds.
    def _replica_step(self, features):
        replica = tf.distribute.get_replica_context()
        normalizers = replica.all_reduce(
            tf.distribute.ReduceOp.SUM, self._loss.normalizers(features)
        )
        partial_losses, partial_gradients = self._partial_losses_and_gradients(
            features, normalizers
        )
        reported = {name: function(features) for name, function in REPORTED.items()}
        values, gradients = replica.all_reduce(
            tf.distribute.ReduceOp.SUM, (partial_losses | reported, partial_gradients)
        )
        variables = self._model.trainable_variables
        # No updates after a bad step.
        loss = tf.where(self._first_bad_step > 0, float("nan"), values["loss"])
        update = self._optimizer.apply_summed(
            list(gradients.values()), [variables[index] for index in gradients], loss=loss
        )
        is_first = ~update.is_good & (self._first_bad_step == 0)
        self._first_bad_step.assign(
            tf.where(is_first, self._optimizer.iterations, self._first_bad_step)
        )
        for name, mean in self._means.items():
            mean.update_state(values[name])
        for name, (read, keep) in LOGGED.items():
            self._logged[name].assign(keep(self._logged[name], read(update)))

    def _partial_losses_and_gradients(self, features, normalizers):
        """Computes this replica's part of the losses and gradients of the batch.

        They are summed over its micro-batches.

        Args:
          features: Dict of tensors. This replica's part of the batch.
          normalizers: Normalizers of the entire batch. See `bert_tf.losses`.

        Returns:
          Tuple of dict of float32 scalars, the partial losses, and dict of gradients by variable
          index, without variables that have none. Gradients are results of `merge_slices`,
          multiplied by the loss scale.
        """

        def compute(micro_batch):
            return self._backward(micro_batch, normalizers)

        # The all-reduce and the update are not in the compiled function: outside of XLA, they run
        # on every strategy.
        if self._jit_compile or self._accumulate_steps > 1:
            compute = tf.function(compute, autograph=False, jit_compile=self._jit_compile or None)
        if self._accumulate_steps == 1:
            return compute(features)
        count = self._accumulate_steps
        micro_batches = {
            name: host_batches.split_rows(value, count) for name, value in features.items()
        }

        def micro_batch(number):
            return {name: value[number] for name, value in micro_batches.items()}

        compute = compute.get_concrete_function(micro_batch(0))
        zeros = tf.nest.map_structure(
            lambda spec: tf.zeros(spec.shape, spec.dtype), compute.structured_outputs
        )
        _, total = tf.while_loop(
            lambda number, total: number < count,
            lambda number, total: (
                number + 1,
                tf.nest.map_structure(tf.add, total, compute(micro_batch(number))),
            ),
            [0, zeros],
            parallel_iterations=1,
        )
        return total

    def _backward(self, features, normalizers):
        """See `_partial_losses_and_gradients`, for one micro-batch."""
        variables = self._model.trainable_variables
        scale = self._optimizer.loss_scale
        with tf.GradientTape() as tape:
            losses = self._loss.partial_losses(
                self._model(features, training=True), features, normalizers
            )
            minimized = losses["loss"] if scale is None else losses["loss"] * scale
        gradients = tape.gradient(minimized, variables)
        return losses, {
            index: merge_slices(gradient)
            for index, gradient in enumerate(gradients)
            if gradient is not None
        }
