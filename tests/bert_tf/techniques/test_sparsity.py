"""Weights set to 0 while training: how many, which, and that those that are gone stay gone."""

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


class Run:
    """A classifier in training on one batch.

    Attributes:
      steps: after each step, the matrices as they are in the variables: list of lists of arrays.
    """

    def __init__(self, schedule=SCHEDULE, optimizer="adamw", steps=STEPS):
        self.encoder = models.BertEncoder(CONFIG, seed=3)
        model = models.BertClassifier(self.encoder, 2)
        optimizer = optimization.create_optimizer(0.02, 100, 0, optimizer)
        if schedule:
            sparsity.prune_in_training(schedule, self.encoder, optimizer)
        variables = model.trainable_variables
        optimizer.build(variables)
        features = {name: tf.constant(value) for name, value in FEATURES.items()}

        @tf.function(autograph=False)
        def step():
            with tf.GradientTape() as tape:
                logits = model(features, training=True)["logits"]
                loss = tf.reduce_sum(tf.nn.softmax(logits)[0, :1]) + tf.reduce_sum(tf.square(logits))
            gradients = tape.gradient(loss, variables)
            optimizer.apply_gradients(zip(gradients, variables, strict=True), skip_gradients_aggregation=True)

        self.steps = [self.kernels()]
        for _ in range(steps):
            step()
            self.steps.append(self.kernels())

    def kernels(self):
        return [layer.kernel.numpy() for layer in sparsity.matrices(self.encoder)]


@pytest.mark.parametrize("count", [1, 2, 500, 999, 1000])
def test_kth_largest(count):
    values = np.random.default_rng(count).normal(size=[40, 25]).astype(np.float32)
    values[3] = 0.0
    assert sparsity.kth_largest(tf.constant(values), count).numpy() == np.sort(values.ravel())[-count]


def test_the_share_falls_as_a_cube():
    schedule = PruningSchedule(0.1, 100, 1100)
    shares = [float(schedule.share(tf.constant(step, tf.int64))) for step in (0, 100, 350, 600, 1100, 2000)]
    np.testing.assert_allclose(shares, [1, 1, 0.1 + 0.9 * 0.75**3, 0.1 + 0.9 * 0.5**3, 0.1, 0.1], rtol=1e-6)
    due = [step for step in range(1, 1200) if schedule.is_due(tf.constant(step, tf.int64))]
    assert due == list(range(110, 1101, 10))


@pytest.mark.parametrize("optimizer", ["adamw", "lamb"])
def test_the_largest_weights_stay(optimizer):
    """Each step's matrix is the one of before, moved, without its smallest weights; what is gone stays gone."""
    run = Run(optimizer=optimizer)
    for before, after in zip(Run(None, optimizer=optimizer, steps=2).steps, run.steps, strict=False):
        for expected, kernel in zip(before, after, strict=True):
            np.testing.assert_array_equal(kernel, expected)  # nothing is taken before its time
    shares = [1, 1, 1, *(0.25 + 0.75 * (1 - done / 3) ** 3 for done in (1, 2, 3)), 0.25, 0.25, 0.25]
    for before, after, share in zip(run.steps[:-1], run.steps[1:], shares[1:], strict=True):
        for old, new in zip(before, after, strict=True):
            assert np.count_nonzero(new) == round(share * new.size)
            assert not new[old == 0].any()
            gone = (new == 0) & (old != 0)
            if gone.any():  # a step moves a weight by at most about the rate
                assert np.abs(old[gone]).max() < np.abs(new[new != 0]).min() + 0.1


def test_what_is_left():
    run = Run()
    stay, all_of_them = sparsity.share_of_weights(run.encoder)
    assert all_of_them == 16 * 48 + 16 * 16 + 2 * 16 * 24
    assert stay == all_of_them // 4
    total, compressed = sparsity.compressed_bytes([layer.kernel for layer in sparsity.matrices(run.encoder)])
    assert total == 4 * all_of_them
    assert compressed < total / 2
