"""Learning rates over the steps of a run and from layer to layer."""

import re

import tensorflow as tf
import tf_keras

from bert_tf.saved_objects import register

_LAYER = re.compile(r"(?:^|/)bert/encoder/layer_(\d+)/")
_EMBEDDINGS = re.compile(r"(?:^|/)bert/embeddings/")


@register
class WarmupDecay(tf_keras.optimizers.schedules.LearningRateSchedule):
    """Rises from 0 to `peak` over the warm-up steps, then falls to 0 at `num_train_steps`.

    As in the original, the decay starts at step 0, not at the end of the warm-up, so the learning rate drops where the
    two meet. It is linear, or the fraction of remaining steps to the power `power`.
    """

    def __init__(self, peak, num_train_steps, num_warmup_steps, power=1.0):
        super().__init__()
        self._peak = peak
        self._num_train_steps = num_train_steps
        self._num_warmup_steps = num_warmup_steps
        self._power = power

    def get_config(self):
        """Returns the arguments of the constructor, for Keras."""
        return {"peak": self._peak, "num_train_steps": self._num_train_steps,
                "num_warmup_steps": self._num_warmup_steps, "power": self._power}

    def __call__(self, step):
        """Returns the learning rate, float32 scalar, at a step, integer scalar; 0 for the first update."""
        step = tf.cast(step, tf.float32)
        remaining = 1.0 - tf.minimum(step / self._num_train_steps, 1.0)
        decayed = self._peak * (remaining if self._power == 1 else remaining**self._power)
        if not self._num_warmup_steps:
            return decayed
        warming_up = self._peak * step / self._num_warmup_steps
        return tf.where(step < self._num_warmup_steps, warming_up, decayed)


def layerwise_factors(variables, num_layers, decay):
    """Computes the factor of the learning rate for each variable of a model.

    Lower layers represent language in general and change less in fine-tuning (Sun et al. 2019, arXiv:1905.05583,
    section 5.3.4; ELECTRA, appendix B). The top layer of the encoder, the pooler, and the head have the full learning
    rate. Each lower layer has `decay` times the rate of the layer above it, and the embeddings have `decay` times the
    rate of the lowest layer. (In ELECTRA's code, the top layer is two powers below the head.)

    Args:
      variables: Variables of a model of bert_tf.models, identified by name. Its layers must not share their weights.
      num_layers: int. Number of layers of its encoder.
      decay: float.

    Returns:
      List of pairs of a variable and a float, for `ClippingOptimizer.set_rate_factors`.
    """
    return [(variable, decay ** _layers_above(variable.name, num_layers)) for variable in variables]


def _layers_above(name, num_layers):
    """Returns the number of encoder layers above the variable of a name."""
    if _EMBEDDINGS.search(name):
        return num_layers
    layer = _LAYER.search(name)
    return num_layers - 1 - int(layer[1]) if layer else 0
