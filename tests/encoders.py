"""Encoders for tests."""

from bert_tf.encoder import BertEncoder
from bert_tf.fast import Fast, FastEncoder


def make_encoder(config, *, seed=0, dtype=None, **fast):
    """Returns a BertEncoder, or a FastEncoder if there are fields of Fast."""
    if not fast:
        return BertEncoder(config, seed=seed, dtype=dtype)
    return FastEncoder(config, Fast(**fast), seed=seed, dtype=dtype)
