"""Creates an optimizer with its schedule, as in the original's `optimization.create_optimizer`."""

import re

from bert_tf.errors import InputError
from bert_tf.optimization.adamw import BertAdamW
from bert_tf.optimization.lamb import Lamb
from bert_tf.optimization.loss_scale import DynamicLossScale
from bert_tf.optimization.optimizer import CLIP_NORM, NO_DECAY_PATTERNS, WEIGHT_DECAY
from bert_tf.optimization.schedule import WarmupDecay

OPTIMIZERS = {"adamw": BertAdamW, "lamb": Lamb}


def create_optimizer(learning_rate, num_train_steps, num_warmup_steps, optimizer="adamw", *, decay_power=1.0,
                     weight_decay=WEIGHT_DECAY, clip_norm=CLIP_NORM, no_decay=NO_DECAY_PATTERNS,
                     beta_1=0.9, beta_2=0.999, epsilon=1e-6, scale_loss=False):
    """Creates the optimizer with its schedule (the original's `optimization.create_optimizer`).

    Args:
      learning_rate: float. Peak learning rate.
      num_train_steps: int. Step at which the learning rate reaches 0.
      num_warmup_steps: int. Steps over which the learning rate rises linearly; 0 for none. If there are more than
        training steps, it never reaches its peak.
      optimizer: str. "adamw" or "lamb".
      decay_power: float. The learning rate is proportional to the fraction of remaining steps to this power; 1 is the
        original's.
      weight_decay: float. Fraction of a variable that decays per step at learning rate 1; 0 for none.
      clip_norm: float. Maximum global norm of the gradients; 0 for no clipping.
      no_decay: Regular expressions. Variables with matching names have no weight decay, and LAMB does not adapt their
        learning rates.
      beta_1, beta_2: float below 1. Decay rates of the means of the gradients and of their squares.
      epsilon: float. Added to the square root of the latter.
      scale_loss: bool. Whether to scale the loss against underflow, as float16 requires; see DynamicLossScale.

    Returns:
      A tf_keras optimizer whose `apply_gradients` takes raw gradients.

    Raises:
      InputError: If the optimizer is unknown, a number is out of range, or a pattern is not a regular expression.
    """
    if optimizer not in OPTIMIZERS:
        raise InputError(f"`optimizer`={optimizer}: must be one of {', '.join(OPTIMIZERS)}")
    if num_train_steps < 1:
        raise InputError(f"`num_train_steps`={num_train_steps}: must be at least 1")
    for name, value in (("num_warmup_steps", num_warmup_steps), ("weight_decay", weight_decay),
                        ("clip_norm", clip_norm)):
        if value < 0:
            raise InputError(f"`{name}`={value}: must be at least 0")
    if decay_power <= 0:
        raise InputError(f"`decay_power`={decay_power}: must be greater than 0")
    for pattern in no_decay:
        try:
            re.compile(pattern)
        except re.error as error:
            raise InputError(f"`no_decay` contains {pattern!r}, which is not a regular expression: {error}") from None
    return OPTIMIZERS[optimizer](
        WarmupDecay(learning_rate, num_train_steps, num_warmup_steps, decay_power), weight_decay=weight_decay,
        clip_norm=clip_norm, no_decay=no_decay, beta_1=beta_1, beta_2=beta_2, epsilon=epsilon,
        loss_scale=DynamicLossScale() if scale_loss else None)
