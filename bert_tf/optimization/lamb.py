"""LAMB, for batches of many thousands of examples.

See You et al. 2020, arXiv:1904.00962, algorithm 2.
"""

import tensorflow as tf

from bert_tf.optimization.optimizer import ClippingOptimizer
from bert_tf.saved_objects import register
from bert_tf.variables import original_names


@register
class Lamb(ClippingOptimizer):
    """Adam with bias correction, with each variable's update scaled to the norm of the variable.

    Variables are the original's: query, key, and value, which share one kernel here, have separate
    norms. Variables without weight decay are not scaled either. Equivalent to
    official.modeling.optimization.lamb.

    See ClippingOptimizer for the arguments.
    """

    def update_variable(self, variable, gradient, scalars):
        """Subtracts rate * trust ratio * (Adam's update + decay * variable)."""
        index = self._index_dict[self._var_key(variable)]
        moments = self._first_moments[index], self._second_moments[index]
        # TensorFlow's Adam kernel with a learning rate of 0 updates only the moments, in one pass.
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=moments[0].handle,
            v=moments[1].handle,
            beta1_power=scalars.zero,
            beta2_power=scalars.zero,
            lr=scalars.zero,
            beta1=scalars.beta_1,
            beta2=scalars.beta_2,
            epsilon=scalars.epsilon,
            grad=gradient,
        )
        first, second = (
            moment * self._bias_correction(beta)
            for moment, beta in zip(moments, (self._beta_1, self._beta_2), strict=True)
        )
        update = first / (tf.sqrt(second) + self._epsilon)
        rate = self.scale_rate(variable, scalars.rate)
        if self.decays(variable):
            update += self._decay * variable
            rate *= trust_ratio(variable, update)
        variable.assign_sub(rate * update)

    def _bias_correction(self, beta):
        """Returns 1 / (1 - beta^t) for update t.

        Computed in the kernel's float32, so that it is exact for the first update.
        """
        return 1.0 / (1.0 - tf.pow(tf.constant(beta), tf.cast(self.iterations + 1, tf.float32)))


def trust_ratio(variable, update):
    """Computes the norm of a variable over the norm of its update, or 1 if either is 0.

    Args:
      variable: float32 [..., columns]. One or more of the original's variables, concatenated on
        the last axis.
      update: float32 [..., columns].

    Returns:
      float32 [columns]. Ratio of each of the original's variables, at each of its columns.
    """
    parts = len(original_names(variable.name))
    shape = [-1, parts, variable.shape[-1] // parts]
    axes = [0, 2]
    norm = tf.norm(tf.reshape(variable, shape), axis=axes)  # [parts]
    update_norm = tf.norm(tf.reshape(update, shape), axis=axes)  # [parts]
    ratio = tf.where((norm > 0) & (update_norm > 0), norm / update_norm, 1.0)
    return tf.repeat(ratio, shape[-1])
