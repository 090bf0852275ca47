"""Losses by hand.

tests/run/training/test_step.py sums the partial losses of replicas and micro-batches.
"""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import losses
from bert_tf.losses import Term, TotalLoss, count_examples


def normal(*shape):
    return tf.constant(np.random.default_rng(7).normal(size=shape), tf.float32)


def test_terms_by_hand():
    """Items 1, 2, 4, and 8 have weights 1, 0, 3, and 2, or are two per example.

    Two terms can share a name.
    """
    items = lambda outputs, features: outputs
    none = lambda features: None
    two = lambda features: 2 * count_examples(features)
    weighted = Term("loss", items, lambda features: features["weights"])
    outputs = tf.constant([1.0, 2.0, 4.0, 8.0])
    features = {"weights": tf.constant([1.0, 0.0, 3.0, 2.0])}
    cases = [
        ([weighted], {"loss": (1 + 12 + 16) / 6}),
        ([dataclasses.replace(weighted, guard=2.0)], {"loss": 29 / 8}),
        ([Term("loss", items, num_items=two)], {"loss": 15 / 8}),
        (
            [Term("loss", items, num_items=lambda features: tf.reduce_sum(features["weights"]))],
            {"loss": 15 / 6},
        ),
        (
            [Term("a", items, factor=2.0), Term("b", items, none, two, 4.0)],
            {"loss": 2 * 15 / 4 + 4 * 15 / 8, "a": 15 / 4, "b": 15 / 8},
        ),
        (
            [
                Term("a", items, none, factor=0.5),
                dataclasses.replace(weighted, name="a", factor=0.5),
            ],
            {"loss": (15 / 4 + 29 / 6) / 2, "a": 15 / 4 + 29 / 6},
        ),
    ]
    for terms, expected in cases:
        loss = TotalLoss(*terms)
        assert loss.names == tuple(expected)
        found = {name: float(value) for name, value in loss(outputs, features).items()}
        assert found == pytest.approx(expected, rel=1e-6)
    assert TotalLoss(weighted, Term("a", items)).normalizers(features) == [6, 4]


def test_a_batch_without_predictions():
    outputs = {"masked_lm_logits": normal(2, 2, 3), "next_sentence_logits": normal(2, 2)}
    features = {
        "masked_lm_ids": tf.constant([[0, 2], [1, 0]]),
        "masked_lm_weights": tf.zeros([2, 2]),
        "next_sentence_labels": tf.constant([[1], [0]]),
    }
    assert float(losses.pretraining_loss(outputs, features)["masked_lm_loss"]) == 0


def test_regression_loss():
    outputs = {"logits": tf.constant([[1.0], [4.0], [2.0]])}
    found = losses.regression_loss(outputs, {"label_ids": tf.constant([3.0, 4.0, 1.0])})["loss"]
    assert float(found) == pytest.approx(5 / 3)


def test_multi_label_loss():
    outputs = {"logits": tf.constant([[0.0, 2.0, -3.0], [0.0, 0.0, 0.0]])}
    sigmoid = 1 / (1 + np.exp(-np.array([0.0, 2.0, -3.0])))
    expected = -np.mean(
        [np.log(sigmoid[0]), np.log(1 - sigmoid[1]), np.log(1 - sigmoid[2]), *3 * [np.log(0.5)]]
    )
    found = losses.multi_label_loss(outputs, {"label_ids": tf.constant([[1, 0, 0], [0, 1, 1]])})[
        "loss"
    ]
    assert float(found) == pytest.approx(expected, rel=1e-6)


def test_span_loss_by_hand():
    outputs = {
        "start_logits": tf.constant([[0.0, np.log(3), 0, 0]]),
        "end_logits": tf.zeros([1, 4]),
    }
    features = {
        "start_positions": tf.constant([[1]]),
        "end_positions": tf.constant([[2]]),
        "input_mask": tf.constant([[1, 1, 1, 0]]),
    }
    # The probabilities of the labels are 3/6 and 1/4; without the padding, 3/5 and 1/3.
    for only_tokens, expected in ((False, np.log(8) / 2), (True, np.log(5) / 2)):
        loss = losses.create_span_loss(only_tokens)
        assert loss.names == ("loss",)
        np.testing.assert_allclose(loss(outputs, features)["loss"], expected, rtol=1e-6)


def test_token_loss_by_hand():
    """Two labeled tokens. The logits of others and more padding do not change the loss."""
    logits = np.zeros([2, 3, 4], np.float32)
    logits[0, 1] = [np.log(3), 0, 0, 0]  # probabilities 3/6, 1/6, 1/6, 1/6
    label_ids = np.array([[-1, 0, -1], [2, -1, -1]], np.int32)
    expected = (np.log(2) + np.log(4)) / 2
    found = losses.token_classification_loss({"logits": logits}, {"label_ids": label_ids})["loss"]
    assert float(found) == pytest.approx(expected, rel=1e-6)
    wider = np.pad(logits, [(0, 0), (0, 5), (0, 0)], constant_values=7)
    wider[0, 0] = [1, 2, 3, 4]
    padded = np.pad(label_ids, [(0, 0), (0, 5)], constant_values=-1)
    found = losses.token_classification_loss({"logits": wider}, {"label_ids": padded})["loss"]
    assert float(found) == pytest.approx(expected, rel=1e-6)
    wider = tf.constant(wider)
    with tf.GradientTape() as tape:
        tape.watch(wider)
        loss = losses.token_classification_loss(
            {"logits": wider}, {"label_ids": tf.fill([2, 8], -1)}
        )["loss"]
    assert loss == 0
    assert not tape.gradient(loss, wider).numpy().any()
