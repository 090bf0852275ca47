"""The base class of the optimizers.

It sums and clips gradients, and skips updates that are not finite.

The original clips by a global norm that includes a sparse gradient by its slices, before duplicate
rows are summed (`tf.clip_by_global_norm` on IndexedSlices). The slices of the parts of a batch, on
replicas and in micro-batches, together make up those of the batch, so the sums of their squares add
up. A dense gradient must be summed over the parts first.
"""

import re
import typing

import tensorflow as tf
import tf_keras

from bert_tf.saved_objects import set_untracked

CLIP_NORM = 1.0  # These and the patterns: the original's `optimization.create_optimizer`.
WEIGHT_DECAY = 0.01
NO_DECAY_PATTERNS = ("LayerNorm", "layer_norm", "bias")

# These values, and the rule, are from tf_keras.mixed_precision.LossScaleOptimizer.
INITIAL = 2.0**15
GROWTH_STEPS = 2000
FACTOR = 2.0


class MergedSlices(typing.NamedTuple):
    """A sparse gradient after its slices were summed per row.

    To add up two parts, add each field.
    """

    values: tf.Tensor  # float32, with the shape of the variable.
    squared_norm: tf.Tensor  # float32 scalar. Sum of squares of the slices.


def merge_slices(gradient):
    """Converts IndexedSlices to MergedSlices; returns a dense gradient unchanged."""
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    return MergedSlices(tf.convert_to_tensor(gradient), 2 * tf.nn.l2_loss(gradient.values))


def _global_norm(gradients):
    """Computes the global norm of gradients, a float32 scalar.

    `gradients`: Results of `merge_slices`, summed over micro-batches and replicas.
    """
    halves = [
        gradient.squared_norm / 2 if isinstance(gradient, MergedSlices) else tf.nn.l2_loss(gradient)
        for gradient in gradients
    ]
    return tf.sqrt(2 * tf.add_n(halves))


class DynamicLossScale(tf.Module):
    """A factor of the loss, at least 1.

    It halves when a gradient overflows, and doubles after GROWTH_STEPS good steps.

    Otherwise, gradients of float16 activations would be rounded to zero. bfloat16 has the range of
    float32. tf_keras' class is not used: it sums gradients over replicas before the norm of their
    slices, and adds a tf.cond. Here, the scale is a variable of the optimizer, so checkpoints
    contain it.
    """

    def __init__(self):
        super().__init__()
        options = {"trainable": False, "aggregation": tf.VariableAggregation.ONLY_FIRST_REPLICA}
        self.value = tf.Variable(INITIAL, name="loss_scale", dtype=tf.float32, **options)
        self._good_steps = tf.Variable(0, name="good_steps", dtype=tf.int64, **options)

    def update(self, is_finite):
        """Updates the scale after a step.

        `is_finite`: bool scalar. Whether the gradients of the step were finite on all replicas.
        """
        good_steps = tf.where(is_finite, self._good_steps + 1, 0)
        grows = good_steps >= GROWTH_STEPS
        raised = tf.where(grows, self.value * FACTOR, self.value)
        lowered = tf.maximum(self.value / FACTOR, 1.0)
        self.value.assign(tf.where(is_finite, raised, lowered))
        self._good_steps.assign(tf.where(grows, tf.zeros([], tf.int64), good_steps))


class Scalars(typing.NamedTuple):
    """Values for all variables of an update, float32 scalars.

    For a skipped update, they change nothing.
    """

    rate: tf.Tensor
    decay: tf.Tensor  # Fraction of a variable that decays.
    kernel_rate: tf.Tensor  # Learning rate over the optimizer's `gradient_scale`.
    beta_1: tf.Tensor
    beta_2: tf.Tensor
    epsilon: tf.Tensor
    zero: tf.Tensor


class Update(typing.NamedTuple):
    """Result of an update of the variables, the same on all replicas."""

    is_good: tf.Tensor  # bool scalar. See `apply_summed`.
    norm: tf.Tensor  # float32 scalar. Global norm of the unscaled gradients before clipping.
    rate: tf.Tensor  # float32 scalar. Learning rate, also of a skipped update.


class ClippingOptimizer(tf_keras.optimizers.Optimizer):
    """Clips the gradients of the whole batch, over all replicas, by one global norm.

    A subclass implements `update_variable(variable, gradient, scalars)`, which updates one
    variable. The gradient is float32 with the shape of the variable, zeros for a skipped update;
    `scalars` are Scalars. A subclass can set `gradient_scale`, a float by which the clipped
    gradients are multiplied.

    Args:
      learning_rate: float or schedule.
      weight_decay, clip_norm, no_decay, beta_1, beta_2, epsilon: See `create_optimizer`.
      scale_loss: bool. Whether the optimizer has a `loss_scale`, by which it divides the gradients.
    """

    gradient_scale = 1.0
    default_name = None

    def __init__(
        self,
        learning_rate,
        *,
        weight_decay=WEIGHT_DECAY,
        clip_norm=CLIP_NORM,
        no_decay=NO_DECAY_PATTERNS,
        beta_1=0.9,
        beta_2=0.999,
        epsilon=1e-6,
        scale_loss=False,
        name=None,
    ):
        # On GPUs, jit_compile would compile each variable's update separately.
        super().__init__(
            name=name or self.default_name or type(self).__name__,
            weight_decay=None,
            jit_compile=False,
        )
        self._learning_rate = self._build_learning_rate(learning_rate)
        self._decay = weight_decay
        self._clip_norm = clip_norm
        self._no_decay = tuple(no_decay)
        self._beta_1 = beta_1
        self._beta_2 = beta_2
        self._epsilon = epsilon
        self._loss_scale = DynamicLossScale() if scale_loss else None
        self.set_rate_factors(())

    def set_rate_factors(self, factors):
        """Sets factors of the learning rate for variables, which also apply to their weight decay.

        Args:
          factors: Pairs of a variable and a float. Other variables have the factor 1.
        """
        set_untracked(
            self,
            _rate_factors={self._var_key(variable): factor for variable, factor in factors},
        )

    def scale_rate(self, variable, rate):
        """Returns a learning rate of Scalars times the variable's factor."""
        factor = self._rate_factors.get(self._var_key(variable), 1.0)
        return rate if factor == 1.0 else rate * factor

    def build(self, var_list, aside=()):
        """Creates the moments, zeros of each variable's shape.

        Those of the variables `aside` come last, so that a checkpoint with them can also be read
        without them.
        """
        super().build([*var_list, *aside])
        if getattr(self, "_built", False):
            return
        moments = {"m": [], "v": []}
        for group in (var_list, aside):
            for name, of_variables in moments.items():
                of_variables += [
                    self.add_variable_from_reference(variable, name) for variable in group
                ]
        self._first_moments = moments["m"]
        self._second_moments = moments["v"]
        self._built = True

    @property
    def loss_scale(self):
        """Factor to multiply the loss by before computing gradients: float32 scalar, or None."""
        return None if self._loss_scale is None else tf.convert_to_tensor(self._loss_scale.value)

    def decays(self, variable):
        """Returns whether weight decay applies to a variable, by its name."""
        return not any(re.search(pattern, variable.name) for pattern in self._no_decay)

    def apply_gradients(self, grads_and_vars, name=None, skip_gradients_aggregation=False):
        """Sums gradients over replicas, clips them, and updates the variables.

        Args:
          grads_and_vars: Pairs of a raw gradient (dense, IndexedSlices, or None for no update) and
            its variable. In the replica context of a strategy, the gradient of the replica's
            partial loss.
          name: str. Scope of the optimizer's variables.
          skip_gradients_aggregation: bool. True if the gradients are already equal on all replicas.

        Returns:
          The step counter, `iterations`.
        """
        grads_and_vars = list(grads_and_vars)
        with tf.name_scope(name or self.name), tf.init_scope():
            # Files of Keras contain the moments of all variables, also of those without a gradient.
            self.build([variable for _, variable in grads_and_vars])
        gradients, variables = zip(
            *(
                (merge_slices(gradient), variable)
                for gradient, variable in grads_and_vars
                if gradient is not None
            ),
            strict=True,
        )
        if not skip_gradients_aggregation:
            replica = tf.distribute.get_replica_context()
            gradients = replica.all_reduce(tf.distribute.ReduceOp.SUM, gradients)
        self.apply_summed(gradients, variables, name=name)
        return self.iterations

    def apply_summed(self, gradients, variables, *, loss=0.0, name=None):
        """Clips summed gradients, and updates the variables.

        If the loss or the gradients are not finite, only the step counter increases.

        Args:
          gradients: Results of `merge_slices`, summed over micro-batches and replicas; if there is
            a `loss_scale`, of the scaled loss.
          variables: Variables of the gradients, in the same order.
          loss: float32 scalar. Unscaled loss, the same on all replicas.
          name: See `apply_gradients`.

        Returns:
          Update. It is not good if the loss was not finite, or if the gradients were not and the
          loss scale cannot decrease.
        """
        scale = 1.0 if self._loss_scale is None else self.loss_scale
        norm = _global_norm(gradients) / scale
        is_applied = tf.math.is_finite(norm + loss)
        factor = self.gradient_scale / scale
        if self._clip_norm:
            factor *= self._clip_norm / tf.maximum(norm, self._clip_norm)
        # Multiplying by a factor of 0 results in 0, even if a gradient is NaN or infinite.
        factor = tf.where(is_applied, factor, 0.0)
        schedule = self._learning_rate
        current_rate = tf.convert_to_tensor(
            schedule(self.iterations) if callable(schedule) else schedule
        )
        rate = tf.where(is_applied, current_rate, 0.0)
        scalars = Scalars(
            rate,
            rate * self._decay,
            rate / self.gradient_scale,
            tf.where(is_applied, self._beta_1, 1.0),
            tf.where(is_applied, self._beta_2, 1.0),
            tf.constant(self._epsilon),
            tf.constant(0.0),
        )
        values = [
            gradient.values if isinstance(gradient, MergedSlices) else gradient
            for gradient in gradients
        ]
        clipped = [tf.math.multiply_no_nan(value, factor) for value in values]
        self._compute_current_learning_rate()
        with tf.name_scope(name or self.name):
            with tf.init_scope():
                self.build(variables)
            tf.__internal__.distribute.interim.maybe_merge_call(
                self._update_variables, self._distribution_strategy, variables, clipped, scalars
            )
        is_good = is_applied
        if self._loss_scale is not None:
            self._loss_scale.update(is_applied)
            is_good = tf.math.is_finite(loss) & (is_applied | (scale > 1.0))
        return Update(is_good, norm, current_rate)

    def _update_variables(self, strategy, variables, gradients, scalars):
        """Updates the variables on all devices, and counts the step.

        This is what Keras does with gradients that are tensors. Here, an update also has Scalars.
        Each device updates all variables. Updates are not sharded, because XlaReduceScatter is
        private, there is no all-gather, and checkpoints would differ.
        """
        for variable, gradient in zip(variables, gradients, strict=True):
            strategy.extended.update(
                variable, self.update_variable, args=(gradient, scalars), group=False
            )
        self.iterations.assign_add(1)

    def get_config(self):
        """Returns the arguments of the constructor, for Keras."""
        return {
            "name": self.name,
            "learning_rate": self._serialize_hyperparameter(self._learning_rate),
            "weight_decay": self._decay,
            "clip_norm": self._clip_norm,
            "no_decay": list(self._no_decay),
            "beta_1": self._beta_1,
            "beta_2": self._beta_2,
            "epsilon": self._epsilon,
            "scale_loss": self._loss_scale is not None,
        }
