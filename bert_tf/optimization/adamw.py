"""The original's optimizer."""

import numpy as np
import tensorflow as tf

from bert_tf.optimization.optimizer import ClippingOptimizer
from bert_tf.saved_objects import register


@register
class BertAdamW(ClippingOptimizer):
    """Adam with decoupled weight decay and no bias correction.

    It is the original's `AdamWeightDecayOptimizer`.

    See ClippingOptimizer for the arguments.
    """

    default_name = "AdamW"  # Prefix of its variables.

    @property
    def gradient_scale(self):
        """Correction for TensorFlow's kernel, which computes 1 - beta_2 in float32.

        For a beta_2 of 0.999, the error is 1.3e-5.

        If gradients are scaled by this, and the learning rate by its inverse, the second moment and
        the update are correct.
        """
        return float(np.sqrt((1 - self._beta_2) / (1 - np.float32(self._beta_2))))

    def update_variable(self, variable, gradient, scalars):
        """Subtracts rate * (m / (sqrt(v) + epsilon) + decay * variable)."""
        index = self._index_dict[self._var_key(variable)]
        if self._decay and self.decays(variable):
            variable.assign_sub(self.scale_rate(variable, scalars.decay) * variable)
        # The kernel corrects the learning rate for bias with the powers of the two betas; powers of
        # 0 disable that.
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=self._first_moments[index].handle,
            v=self._second_moments[index].handle,
            beta1_power=scalars.zero,
            beta2_power=scalars.zero,
            lr=self.scale_rate(variable, scalars.kernel_rate),
            beta1=scalars.beta_1,
            beta2=scalars.beta_2,
            epsilon=scalars.epsilon,
            grad=gradient,
        )
