"""The accelerations: an encoder that computes what BertEncoder computes, in less time or memory."""

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
