"""The learning rate over a run."""

import tensorflow as tf
import tf_keras

from bert_tf.saved_objects import SavedObject


class WarmupDecay(SavedObject, tf_keras.optimizers.schedules.LearningRateSchedule):
    """Rises from 0 to `peak` over the warm-up steps, then falls to reach 0 at `num_train_steps`.

    The fall counts from step 0, not from the end of the warm-up: the rate drops where the two meet, as in
    the original. It is linear, or the share of steps left to the power `power`.
    """

    def __init__(self, peak, num_train_steps, num_warmup_steps, power=1.0):
        super().__init__()
        self._peak = peak
        self._num_train_steps = num_train_steps
        self._num_warmup_steps = num_warmup_steps
        self._power = power

    def __call__(self, step):
        """step: integer scalar, 0 for the first update -> float32 scalar."""
        step = tf.cast(step, tf.float32)
        left = 1.0 - tf.minimum(step / self._num_train_steps, 1.0)
        decayed = self._peak * (left if self._power == 1 else left**self._power)
        if not self._num_warmup_steps:
            return decayed
        warming_up = self._peak * step / self._num_warmup_steps
        return tf.where(step < self._num_warmup_steps, warming_up, decayed)
