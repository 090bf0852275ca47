"""Loss scaling, for gradients of float16 activations that would otherwise be rounded to zero."""

import tensorflow as tf

INITIAL = 2.0**15  # These values, and the rule, are from tf_keras.mixed_precision.LossScaleOptimizer.
GROWTH_STEPS = 2000
FACTOR = 2.0


class DynamicLossScale(tf.Module):
    """A factor, at least 1, that halves when a gradient overflows and doubles after `growth_steps` good steps.

    bfloat16 does not require it, since it has the range of float32.

    Attributes:
      value: float32 variable, scalar.
    """

    def __init__(self, initial=INITIAL, growth_steps=GROWTH_STEPS):
        super().__init__()
        self._initial, self._growth_steps = initial, growth_steps
        options = {"trainable": False, "aggregation": tf.VariableAggregation.ONLY_FIRST_REPLICA}
        self.value = tf.Variable(initial, name="loss_scale", dtype=tf.float32, **options)
        self._good_steps = tf.Variable(0, name="good_steps", dtype=tf.int64, **options)

    def get_config(self):
        """Returns the arguments of the constructor."""
        return {"initial": self._initial, "growth_steps": self._growth_steps}

    def update(self, is_finite):
        """Updates the scale after a step.

        Args:
          is_finite: bool scalar. Whether the gradients of the step were finite; the same on all replicas.
        """
        good_steps = tf.where(is_finite, self._good_steps + 1, 0)
        grows = good_steps >= self._growth_steps
        raised = tf.where(grows, self.value * FACTOR, self.value)
        lowered = tf.maximum(self.value / FACTOR, 1.0)
        self.value.assign(tf.where(is_finite, raised, lowered))
        self._good_steps.assign(tf.where(grows, tf.zeros([], tf.int64), good_steps))
