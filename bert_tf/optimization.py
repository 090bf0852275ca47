"""The original's optimizer: AdamW without bias correction, clipping, linear warm-up and decay."""

import re

import numpy as np
import tensorflow as tf
import tf_keras

EPSILON = 1e-6  # these three and the patterns: the original's `optimization.create_optimizer`
CLIP_NORM = 1.0
WEIGHT_DECAY = 0.01
NO_DECAY_PATTERNS = ("LayerNorm", "layer_norm", "bias")


class WarmupLinearDecay(tf_keras.optimizers.schedules.LearningRateSchedule):
    """Rises from 0 to `peak` over the warm-up steps, then falls linearly to reach 0 at `num_train_steps`.

    The fall counts from step 0, not from the end of the warm-up: the rate drops where the two meet, as in
    the original.
    """

    def __init__(self, peak, num_train_steps, num_warmup_steps):
        super().__init__()
        self._peak = peak
        self._num_train_steps = num_train_steps
        self._num_warmup_steps = num_warmup_steps

    def __call__(self, step):
        """step: integer scalar, 0 for the first update -> float32 scalar."""
        step = tf.cast(step, tf.float32)
        decayed = self._peak * (1.0 - tf.minimum(step / self._num_train_steps, 1.0))
        if not self._num_warmup_steps:
            return decayed
        warming_up = self._peak * step / self._num_warmup_steps
        return tf.where(step < self._num_warmup_steps, warming_up, decayed)

    def get_config(self):
        """The constructor's arguments."""
        return {"peak": self._peak, "num_train_steps": self._num_train_steps,
                "num_warmup_steps": self._num_warmup_steps}


class AdamW(tf_keras.optimizers.Optimizer):
    """Adam with decoupled weight decay and no bias correction (the original's `AdamWeightDecayOptimizer`).

    `apply_gradients` takes raw gradients. It clips them by their global norm on each replica, a sparse
    gradient by its values before duplicate rows are summed, then averages over replicas.

    Args:
      learning_rate: float or schedule.
      weight_decay: float, times the variable, added to the update of each variable whose name matches none
        of NO_DECAY_PATTERNS.
      clip_norm: float, largest global norm of the gradients of one replica.
      beta_1, beta_2: decay rates of the two moments.
      epsilon: added to the root of the second moment.
    """

    def __init__(self, learning_rate, *, weight_decay=WEIGHT_DECAY, clip_norm=CLIP_NORM, beta_1=0.9,
                 beta_2=0.999, epsilon=EPSILON, name="AdamW"):
        super().__init__(name=name, weight_decay=None)
        self._learning_rate = self._build_learning_rate(learning_rate)
        self._decay = weight_decay
        self._clip_norm = clip_norm
        self._beta_1 = beta_1
        self._beta_2 = beta_2
        self._epsilon = epsilon
        # TensorFlow's kernel takes 1 - beta_2 in float32, which for 0.999 is off by 1.3e-5. Gradients scaled by this,
        # and the rate by its inverse, give the second moment and the update the right factor.
        self.gradient_scale = float(np.sqrt((1 - beta_2) / (1 - np.float32(beta_2))))

    def build(self, var_list):
        """Makes the moments, zeros of each variable's shape."""
        super().build(var_list)
        if getattr(self, "_built", False):
            return
        self._first_moments = [self.add_variable_from_reference(variable, "m") for variable in var_list]
        self._second_moments = [self.add_variable_from_reference(variable, "v") for variable in var_list]
        self._built = True

    def apply_gradients(self, grads_and_vars, name=None, skip_gradients_aggregation=False):
        """Clips, averages over replicas, updates.

        Args:
          grads_and_vars: pairs of a raw gradient (dense, IndexedSlices, or None for no update) and its
            variable; in a replica's context when there is a strategy.
          name: scope of the optimizer's variables.
          skip_gradients_aggregation: True when the gradients are already equal on all replicas.

        Returns:
          The step counter, `iterations`.
        """
        gradients, variables = zip(*(pair for pair in grads_and_vars if pair[0] is not None), strict=True)
        norm = tf.linalg.global_norm(gradients)
        factor = self.gradient_scale * self._clip_norm / tf.maximum(norm, self._clip_norm)
        gradients = [tf.convert_to_tensor(gradient) * factor for gradient in gradients]
        if not skip_gradients_aggregation:
            replica = tf.distribute.get_replica_context()
            gradients = replica.all_reduce(tf.distribute.ReduceOp.MEAN, gradients)
        return super().apply_gradients(zip(gradients, variables, strict=True), name=name,
                                       skip_gradients_aggregation=True)

    def update_step(self, gradient, variable):
        """Moves one variable by its averaged, clipped gradient of the same shape."""
        index = self._index_dict[self._var_key(variable)]
        rate = tf.cast(self.learning_rate, variable.dtype)
        if decays(variable):
            variable.assign_sub(rate * self._decay * variable)
        # The kernel corrects the rate for bias by the powers of the two betas; with powers of 0 it does not.
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle, m=self._first_moments[index].handle, v=self._second_moments[index].handle,
            beta1_power=0.0, beta2_power=0.0, lr=rate / self.gradient_scale, beta1=self._beta_1, beta2=self._beta_2,
            epsilon=self._epsilon, grad=gradient)

    def get_config(self):
        """The constructor's arguments."""
        return {
            "name": self.name,
            "learning_rate": self._serialize_hyperparameter(self._learning_rate),
            "weight_decay": self._decay,
            "clip_norm": self._clip_norm,
            "beta_1": self._beta_1,
            "beta_2": self._beta_2,
            "epsilon": self._epsilon,
        }


def decays(variable):
    """Whether weight decay applies to a variable: to all but LayerNorm's and biases, by name."""
    return not any(re.search(pattern, variable.name) for pattern in NO_DECAY_PATTERNS)


def create_optimizer(learning_rate, num_train_steps, num_warmup_steps, optimizer="adamw"):
    """The optimizer with its schedule (the original's `optimization.create_optimizer`).

    Args:
      learning_rate: float, the peak.
      num_train_steps: int, the step at which the rate reaches 0.
      num_warmup_steps: int, steps over which the rate rises linearly; 0 for none. With more than there are
        training steps, the rate never reaches its peak.
      optimizer: "adamw".

    Returns:
      A tf_keras optimizer whose `apply_gradients` takes raw gradients.

    Raises:
      ValueError: an unknown optimizer, a count that is not positive, or a negative warm-up.
    """
    if optimizer != "adamw":
        raise ValueError(f"optimizer is {optimizer!r}: it must be 'adamw'")
    if num_train_steps < 1:
        raise ValueError(f"num_train_steps is {num_train_steps}: it must be at least 1")
    if num_warmup_steps < 0:
        raise ValueError(f"num_warmup_steps is {num_warmup_steps}: it must be at least 0")
    return AdamW(WarmupLinearDecay(learning_rate, num_train_steps, num_warmup_steps))
