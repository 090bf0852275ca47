"""Magnitude pruning in training: the schedule, the number of zeros, and that they stay zeros."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models, optimization
from bert_tf.techniques import sparsity
from bert_tf.techniques.sparsity import PruningSchedule
from tests import toy_servables

CONFIG = dataclasses.replace(toy_servables.CONFIG, hidden_size=16, num_hidden_layers=1, intermediate_size=24,
                             initializer_range=0.2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
FEATURES = {"input_ids": [[2, 5, 6, 3], [2, 7, 8, 3]], "input_mask": [[1] * 4, [1] * 4],
            "segment_ids": [[0] * 4, [0, 0, 1, 1]]}
SCHEDULE = PruningSchedule(0.25, 2, 5)
STEPS = 8


def train(schedule, optimizer="adamw", steps=STEPS):
    """Trains a classifier on one batch; returns its encoder and the matrices before each step and at the end."""
    encoder = models.BertEncoder(CONFIG, seed=3)
    model = models.BertClassifier(encoder, 2)
    optimizer = optimization.create_optimizer(0.02, 100, 0, optimizer)
    if schedule:
        sparsity.prune_in_training(schedule, encoder, optimizer)
    optimizer.build(model.trainable_variables)
    features = {name: tf.constant(value) for name, value in FEATURES.items()}
    history = []
    for step in range(steps + 1):
        history.append([layer.kernel.numpy() for layer in sparsity.matrices(encoder)])
        if step < steps:
            with tf.GradientTape() as tape:
                logits = model(features, training=True)["logits"]
                loss = tf.reduce_sum(tf.nn.softmax(logits)[0, :1]) + tf.reduce_sum(tf.square(logits))
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return encoder, history


@pytest.mark.parametrize("count", [1, 2, 500, 999, 1000])
def test_kth_largest(count):
    values = np.random.default_rng(count).normal(size=[40, 25]).astype(np.float32)
    values[3] = 0.0
    assert sparsity.kth_largest(tf.constant(values), count).numpy() == np.sort(values.ravel())[-count]


def test_the_schedule_is_cubic():
    schedule = PruningSchedule(0.1, 100, 1100)
    shares = [float(schedule.share(tf.constant(step, tf.int64))) for step in (0, 100, 350, 600, 1100, 2000)]
    np.testing.assert_allclose(shares, [1, 1, 0.1 + 0.9 * 0.75**3, 0.1 + 0.9 * 0.5**3, 0.1, 0.1], rtol=1e-6)
    due = [step for step in range(1, 1200) if schedule.is_due(tf.constant(step, tf.int64))]
    assert due == list(range(110, 1101, 10))


@pytest.mark.parametrize("optimizer", ["adamw", "lamb"])
def test_the_largest_weights_are_kept(optimizer):
    """Each step moves a matrix, then removes its smallest weights; zeros stay zeros."""
    encoder, history = train(SCHEDULE, optimizer)
    _, unpruned = train(None, optimizer, steps=2)
    for before, after in zip(unpruned, history, strict=False):
        for expected, kernel in zip(before, after, strict=True):
            np.testing.assert_array_equal(kernel, expected)  # Before the schedule begins.
    fractions = [1, 1, *(0.25 + 0.75 * (1 - done / 3) ** 3 for done in (1, 2, 3)), 0.25, 0.25, 0.25]
    for before, after, fraction in zip(history[:-1], history[1:], fractions, strict=True):
        for old, new in zip(before, after, strict=True):
            assert np.count_nonzero(new) == round(fraction * new.size)
            assert not new[old == 0].any()
            removed = (new == 0) & (old != 0)
            if removed.any():  # A step moves a weight by at most about the learning rate.
                assert np.abs(old[removed]).max() < np.abs(new[new != 0]).min() + 0.1

    kept, count = sparsity.count_remaining_weights(encoder)
    assert count == 16 * 48 + 16 * 16 + 2 * 16 * 24
    assert kept == count // 4
    total, compressed = sparsity.measure_compressed_size([layer.kernel for layer in sparsity.matrices(encoder)])
    assert total == 4 * count
    assert compressed < total / 2
