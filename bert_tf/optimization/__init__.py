"""The original's optimizer, and LAMB.

The former is AdamW without bias correction, with clipping, linear warm-up, and decay.

    optimizer = create_optimizer(learning_rate, num_train_steps, num_warmup_steps)
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))

With a strategy or micro-batches, each part of a batch provides the gradients of its partial loss
(bert_tf.losses). The partial losses add up to the loss of the whole batch, and the update is equal
to a single device's.
"""

from bert_tf.optimization.adamw import BertAdamW
from bert_tf.optimization.factory import WarmupDecay, create_optimizer, layerwise_factors
from bert_tf.optimization.lamb import Lamb
from bert_tf.optimization.optimizer import NO_DECAY_PATTERNS

__all__ = [
    "NO_DECAY_PATTERNS",
    "BertAdamW",
    "Lamb",
    "WarmupDecay",
    "create_optimizer",
    "layerwise_factors",
]
