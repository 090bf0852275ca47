"""Encoders, features that they read, and models with the weights of a checkpoint, for tests."""

import numpy as np
import tensorflow as tf

from bert_tf.checkpoints import load_pretrained
from bert_tf.encoder import BertEncoder
from bert_tf.fast import Fast, FastEncoder


def make_encoder(config, *, seed=0, dtype=None, **fast):
    """Returns a BertEncoder, or a FastEncoder if there are fields of Fast."""
    if not fast:
        return BertEncoder(config, seed=seed, dtype=dtype)
    return FastEncoder(config, Fast(**fast), seed=seed, dtype=dtype)


def make_features(config, lengths):
    """Returns random features, int32 [B, S], of sequences of these B lengths.

    S is the largest length.
    """
    rng = np.random.default_rng(3)
    mask = (np.arange(max(lengths)) < np.array(lengths)[:, np.newaxis]).astype(np.int32)
    return {
        "input_ids": tf.constant(rng.integers(1, config.vocab_size, mask.shape) * mask, tf.int32),
        "input_mask": tf.constant(mask),
        "segment_ids": tf.constant(
            rng.integers(0, config.type_vocab_size or 2, mask.shape) * mask, tf.int32
        ),
    }


def load_all(model, path):
    """Loads a checkpoint that has the weights of the model and no others; returns the model."""
    report = load_pretrained(model, str(path))
    assert report.missing == report.unused == ()
    return model
