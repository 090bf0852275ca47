"""The accelerations: an encoder that computes what BertEncoder computes, in less time or memory."""

from bert_tf.fast.encoder import Fast, FastEncoder
from bert_tf.fast.weights import CastWeights, projection_weights, replace_weights

__all__ = ["CastWeights", "Fast", "FastEncoder", "projection_weights", "replace_weights"]
