"""Encoders of tests, plain or fast."""

from bert_tf.encoder import BertEncoder
from bert_tf.fast import Fast, FastEncoder


def make_encoder(config, *, seed=0, dtype=None, **fast):
    """A BertEncoder, or with any fields of Fast a FastEncoder."""
    if not fast:
        return BertEncoder(config, seed=seed, dtype=dtype)
    return FastEncoder(config, Fast(**fast), seed=seed, dtype=dtype)
