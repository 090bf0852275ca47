"""A BiLSTM compared with NumPy, and the mix of layers by hand."""

import numpy as np
import tensorflow as tf

from bert_tf.layers import BiLSTM, ScalarMix
from tests.numpy_lstm import bidirectional

WORDS, INPUT, WIDTH = 6, 5, 4


def test_outputs_of_a_bilstm():
    layer = BiLSTM(INPUT, WIDTH, (3, 4), name="lstm")
    rng = np.random.default_rng(1)
    for variable in layer.trainable_variables:
        variable.assign(rng.normal(size=variable.shape))
    lengths = [6, 1, 4]
    x = rng.normal(size=[len(lengths), WORDS, INPUT]).astype(np.float32)
    mask = np.arange(WORDS) < np.array(lengths)[:, np.newaxis]
    outputs = layer(tf.constant(x), tf.constant(mask)).numpy()
    assert outputs.shape == (len(lengths), WORDS, 2 * WIDTH)
    for row, length in enumerate(lengths):
        expected = bidirectional(x[row, :length], [each.numpy() for each in layer.trainable_variables])
        np.testing.assert_allclose(outputs[row, :length], expected, atol=2e-6)


def test_a_mix_is_first_a_mean_then_a_weighted_sum():
    mix = ScalarMix(3)
    layers = np.random.default_rng(2).normal(size=[2, 3, 4]).astype(np.float32)
    np.testing.assert_allclose(mix(layers, axis=1), layers.mean(axis=1), atol=1e-6)
    mix.scores.assign(np.log([1.0, 2.0, 5.0]))
    mix.gamma.assign(3.0)
    np.testing.assert_allclose(mix.layer_weights, [0.125, 0.25, 0.625], atol=1e-6)
    expected = 3 * (0.125 * layers[:, 0] + 0.25 * layers[:, 1] + 0.625 * layers[:, 2])
    np.testing.assert_allclose(mix(layers, axis=1), expected, atol=1e-6)
    np.testing.assert_allclose(mix(layers.transpose([1, 0, 2])), expected, atol=1e-6)
