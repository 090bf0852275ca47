"""The original's optimizer."""

import numpy as np
import tensorflow as tf

from bert_tf.optimization.clipping import ClippingOptimizer


class AdamW(ClippingOptimizer):
    """Adam with decoupled weight decay and no bias correction (the original's `AdamWeightDecayOptimizer`).

    Arguments as ClippingOptimizer's.
    """

    @property
    def gradient_scale(self):
        """Makes up for TensorFlow's kernel taking 1 - beta_2 in float32, which for 0.999 is off by 1.3e-5.

        Gradients scaled by this, and the rate by its inverse, give the second moment and the update the right factor.
        """
        return float(np.sqrt((1 - self._beta_2) / (1 - np.float32(self._beta_2))))

    def move(self, gradient, variable):
        """Moves one variable by its ClippedGradient."""
        index = self._index_dict[self._var_key(variable)]
        rate = tf.where(gradient.is_applied, self.rate_of(variable), 0.0)
        if self._decay and self.decays(variable):
            variable.assign_sub(rate * self._decay * variable)
        # The kernel corrects the rate for bias by the powers of the two betas; with powers of 0 it does not.
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle, m=self._first_moments[index].handle, v=self._second_moments[index].handle,
            beta1_power=0.0, beta2_power=0.0, lr=rate / self.gradient_scale,
            beta1=tf.where(gradient.is_applied, self._beta_1, 1.0),
            beta2=tf.where(gradient.is_applied, self._beta_2, 1.0), epsilon=self._epsilon, grad=gradient.values)
