"""Creates an optimizer with its schedule (the original's `optimization.create_optimizer`).

Learning rates by layer.
"""

import re

import tensorflow as tf
import tf_keras

from bert_tf.errors import InputError
from bert_tf.optimization.adamw import BertAdamW
from bert_tf.optimization.lamb import Lamb
from bert_tf.optimization.optimizer import CLIP_NORM, NO_DECAY_PATTERNS, WEIGHT_DECAY
from bert_tf.saved_objects import register

OPTIMIZERS = {"adamw": BertAdamW, "lamb": Lamb}


def create_optimizer(
    learning_rate,
    num_train_steps,
    num_warmup_steps,
    optimizer="adamw",
    *,
    decay_power=1.0,
    weight_decay=WEIGHT_DECAY,
    clip_norm=CLIP_NORM,
    no_decay=NO_DECAY_PATTERNS,
    beta_1=0.9,
    beta_2=0.999,
    epsilon=1e-6,
    scale_loss=False,
):
    """Creates the optimizer with its schedule (the original's `optimization.create_optimizer`).

    Args:
      learning_rate: float. Peak learning rate.
      num_train_steps: int. Step at which the learning rate reaches 0.
      num_warmup_steps: int. Steps over which the learning rate rises linearly; 0 for none. If there
        are more than training steps, it never reaches its peak.
      optimizer: str. "adamw" or "lamb".
      decay_power: float. The learning rate is proportional to the fraction of remaining steps to
        this power; 1 is the original's.
      weight_decay: float. Fraction of a variable that decays per step at learning rate 1; 0 for
        none.
      clip_norm: float. Maximum global norm of the gradients; 0 for no clipping.
      no_decay: Regular expressions. Variables with matching names have no weight decay, and LAMB
        does not adapt their learning rates.
      beta_1, beta_2: float below 1. Decay rates of the means of the gradients and of their squares.
      epsilon: float. Added to the square root of the latter.
      scale_loss: bool. Whether to scale the loss against underflow, as float16 requires; see
        DynamicLossScale.

    Returns:
      A tf_keras optimizer whose `apply_gradients` takes raw gradients.

    Raises:
      InputError: If the optimizer is unknown, or if there are no training steps.
    """
    if optimizer not in OPTIMIZERS:
        raise InputError(f"must be one of {', '.join(OPTIMIZERS)}", "optimizer", optimizer)
    if num_train_steps < 1:
        raise InputError("must be at least 1", "num_train_steps", num_train_steps)
    return OPTIMIZERS[optimizer](
        WarmupDecay(learning_rate, num_train_steps, num_warmup_steps, decay_power),
        weight_decay=weight_decay,
        clip_norm=clip_norm,
        no_decay=no_decay,
        beta_1=beta_1,
        beta_2=beta_2,
        epsilon=epsilon,
        scale_loss=scale_loss,
    )


@register
class WarmupDecay(tf_keras.optimizers.schedules.LearningRateSchedule):
    """Rises from 0 to `peak` over the warm-up steps, then falls to 0 at `num_train_steps`.

    As in the original, the decay starts at step 0, not at the end of the warm-up, so the learning
    rate drops where the two meet. It is linear, or the fraction of remaining steps to the power
    `power`.
    """

    def __init__(self, peak, num_train_steps, num_warmup_steps, power=1.0):
        super().__init__()
        self._peak = peak
        self._num_train_steps = num_train_steps
        self._num_warmup_steps = num_warmup_steps
        self._power = power

    def get_config(self):
        """Returns the arguments of the constructor, for Keras."""
        return {
            "peak": self._peak,
            "num_train_steps": self._num_train_steps,
            "num_warmup_steps": self._num_warmup_steps,
            "power": self._power,
        }

    def __call__(self, step):
        """Returns the learning rate at a step, a float32 scalar.

        `step`: Integer scalar. 0 for the first update.
        """
        step = tf.cast(step, tf.float32)
        remaining = 1.0 - tf.minimum(step / self._num_train_steps, 1.0)
        decayed = self._peak * (remaining if self._power == 1 else remaining**self._power)
        if not self._num_warmup_steps:
            return decayed
        warming_up = self._peak * step / self._num_warmup_steps
        return tf.where(step < self._num_warmup_steps, warming_up, decayed)


def layerwise_factors(variables, num_layers, decay):
    """Computes the factor of the learning rate for each variable of a model.

    Lower layers represent language in general and change less in fine-tuning (Sun et al. 2019,
    arXiv:1905.05583, section 5.3.4; ELECTRA, appendix B). The top layer of the encoder, the pooler,
    and the head have the full learning rate. Each lower layer has `decay` times the rate of the
    layer above it, and the embeddings have `decay` times the rate of the lowest layer. (In
    ELECTRA's code, the top layer is two powers below the head.)

    Args:
      variables: Variables of a model of bert_tf.models, identified by name. Its layers must not
        share their weights.
      num_layers: int. Number of layers of its encoder.
      decay: float.

    Returns:
      List of pairs of a variable and a float, for `ClippingOptimizer.set_rate_factors`.
    """
    pairs = []
    for variable in variables:
        layer = re.search(r"bert/encoder/layer_(\d+)/", variable.name)
        layers_above = 0
        if "bert/embeddings/" in variable.name:
            layers_above = num_layers
        elif layer:
            layers_above = num_layers - 1 - int(layer[1])
        pairs.append((variable, decay**layers_above))
    return pairs
