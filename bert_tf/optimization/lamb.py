"""LAMB, for batches of many thousand examples (You et al. 2020, arXiv:1904.00962, algorithm 2)."""

import tensorflow as tf

from bert_tf.checkpoints.tf1 import original_names
from bert_tf.optimization.optimizer import ClippingOptimizer


class Lamb(ClippingOptimizer):
    """Adam with bias correction, whose update of each variable is scaled to the variable's own norm.

    "Each variable" means the original's: the norms of query, key and value, which here are one kernel, are taken apart.
    Variables that do not decay are not adapted either. Agrees with official.modeling.optimization.lamb.

    Arguments as ClippingOptimizer's.
    """

    def move(self, gradient, variable):
        """Moves one variable by its ClippedGradient."""
        index, scalars = self._index_dict[self._var_key(variable)], gradient.scalars
        moments = self._first_moments[index], self._second_moments[index]
        # TensorFlow's Adam kernel at a rate of 0: it moves the moments alone, in one pass.
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle, m=moments[0].handle, v=moments[1].handle, beta1_power=scalars.zero,
            beta2_power=scalars.zero, lr=scalars.zero, beta1=scalars.beta_1, beta2=scalars.beta_2,
            epsilon=scalars.epsilon, grad=gradient.values)
        first, second = (moment * self._bias_correction(beta)
                         for moment, beta in zip(moments, (self._beta_1, self._beta_2), strict=True))
        update = first / (tf.sqrt(second) + self._epsilon)
        rate = self.own_rate(variable, scalars.rate)
        if self.decays(variable):
            update += self._decay * variable
            rate *= trust_ratio(variable, update)
        variable.assign_sub(rate * update)

    def _bias_correction(self, beta):
        """1 / (1 - beta^t) for update t, in the kernel's float32, so that the first update's is exact."""
        return 1.0 / (1.0 - tf.pow(tf.constant(beta), tf.cast(self.iterations + 1, tf.float32)))


def trust_ratio(variable, update):
    """Norm of a variable over the norm of its update; 1 where either is 0.

    Args:
      variable: float32 [..., W], one or more of the original's variables side by side on the last axis.
      update: of the same shape.

    Returns:
      float32 [W]: each part's ratio, at each of its columns.
    """
    parts = len(original_names(variable.name))
    shape = [-1, parts, variable.shape[-1] // parts]
    axes = [0, 2]
    norm = tf.norm(tf.reshape(variable, shape), axis=axes)  # [parts]
    update_norm = tf.norm(tf.reshape(update, shape), axis=axes)  # [parts]
    ratio = tf.where((norm > 0) & (update_norm > 0), norm / update_norm, 1.0)
    return tf.repeat(ratio, shape[-1])
