"""gather_rows: the results and the gradient of tf.gather, in fewer operations."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.fast.layers import gather_rows

B, N, S, P, W = 3, 2, 5, 4, 6


@pytest.mark.parametrize("sizes", [(B,), (B, N)])
def test_rows_and_gradient_are_those_of_a_gather(sizes):
    generator = np.random.default_rng(3)
    x = tf.constant(generator.normal(size=(*sizes, S, W)), tf.float32)
    positions = tf.constant(generator.integers(0, S, [B, P]), tf.int32)  # With repetitions.
    weights = tf.constant(generator.normal(size=(*sizes, P, W)), tf.float32)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        expected = tf.gather(x, positions, axis=len(sizes), batch_dims=1)
        each = positions if sizes == (B,) else positions[:, tf.newaxis]
        rows = gather_rows(tf.reshape(x, [-1, W]), tf.constant(sizes), each)
        losses = [tf.reduce_sum(output * weights) for output in (expected, rows)]
    np.testing.assert_array_equal(rows, expected)
    np.testing.assert_array_equal(*(tape.gradient(loss, x) for loss in losses))


def test_no_sequences():
    assert gather_rows(tf.zeros([0, W]), [0], tf.zeros([0, P], tf.int32)).shape == [0, P, W]
