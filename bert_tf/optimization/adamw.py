"""The original's optimizer."""

import numpy as np
import tensorflow as tf

from bert_tf.optimization.optimizer import ClippingOptimizer


class BertAdamW(ClippingOptimizer):
    """Adam with decoupled weight decay and no bias correction (the original's `AdamWeightDecayOptimizer`).

    Arguments as ClippingOptimizer's.
    """

    default_name = "AdamW"  # of its variables

    @property
    def gradient_scale(self):
        """Makes up for TensorFlow's kernel taking 1 - beta_2 in float32, which for 0.999 is off by 1.3e-5.

        Gradients scaled by this, and the rate by its inverse, give the second moment and the update the right factor.
        """
        return float(np.sqrt((1 - self._beta_2) / (1 - np.float32(self._beta_2))))

    def move(self, gradient, variable):
        """Moves one variable by its ClippedGradient."""
        index, scalars = self._index_dict[self._var_key(variable)], gradient.scalars
        if self._decay and self.decays(variable):
            variable.assign_sub(self.own_rate(variable, scalars.decay) * variable)
        # The kernel corrects the rate for bias by the powers of the two betas; with powers of 0 it does not.
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle, m=self._first_moments[index].handle, v=self._second_moments[index].handle,
            beta1_power=scalars.zero, beta2_power=scalars.zero, lr=self.own_rate(variable, scalars.kernel_rate),
            beta1=scalars.beta_1, beta2=scalars.beta_2, epsilon=scalars.epsilon, grad=gradient.values)
