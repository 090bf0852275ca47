"""The accelerations: an encoder that computes what BertEncoder computes, in less time or memory.

These were tried, and gained nothing: GELU through a sigmoid; one batched product for the gradients
of inputs; AdamW with clip and decay as one function of XLA; other settings of malloc (mallopt).
"""

from bert_tf.fast.dropout import BitDropout
from bert_tf.fast.encoder import LAYERS, Fast, FastEncoder
from bert_tf.fast.weights import CastWeights, projection_weights, replace_weights

__all__ = [
    "LAYERS",
    "BitDropout",
    "CastWeights",
    "Fast",
    "FastEncoder",
    "projection_weights",
    "replace_weights",
]
