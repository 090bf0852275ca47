"""Hooks of layers: their order, that Keras does not track them, and what the encoder's hooks may change."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.errors import InputError
from bert_tf.layers import Hook, Projection, WeightInitializer, attach, attached, detach, hooks
from bert_tf.techniques.masks import masked
from tests.encoders import make_encoder

T, K, M = 3, 5, 7


class Scale(Hook):
    """Multiplies a kernel by a factor, and notes its name at each product."""

    def __init__(self, factor, called):
        self._factor, self._called = factor, called

    def product(self, x, kernel, multiply):
        self._called.append(self._factor)
        return multiply(x, kernel * self._factor)

    def kernel(self, kernel):
        return kernel * self._factor


@pytest.fixture
def projection():
    return Projection(K, M, WeightInitializer(0.02, 1), name="dense")


def test_the_last_hook_is_outermost_and_keras_tracks_none(projection):
    x, called = tf.ones([T, K]), []
    plain, weights = projection(x), len(projection.weights)
    inner, outer = Scale(2.0, called), Scale(3.0, called)
    attach(projection, inner)
    attach(projection, outer)
    np.testing.assert_allclose(projection(x), 6 * plain, rtol=1e-6)
    assert called == [3.0, 2.0]
    np.testing.assert_allclose(hooks.merge_kernel(projection, projection.kernel), 6 * projection.kernel, rtol=1e-6)
    assert len(projection.weights) == weights
    assert projection.submodules == ()
    detach(projection, inner)
    np.testing.assert_allclose(projection(x), 3 * plain, rtol=1e-6)


def test_hooks_of_a_context_end_with_it_and_after_an_error(projection):
    x = tf.ones([T, K])
    plain = projection(x)
    with attached([(projection, Scale(2.0, []))]):
        np.testing.assert_allclose(projection(x), 2 * plain, rtol=1e-6)
    np.testing.assert_array_equal(projection(x), plain)
    with pytest.raises(tf.errors.InvalidArgumentError), attached([(projection, Scale(2.0, []))]):
        projection(tf.ones([T, K + 1]))
    np.testing.assert_array_equal(projection(x), plain)
    assert projection.hooks == ()


def test_a_product_that_no_kernel_gives_is_rejected(projection):
    class Inputs(Hook):
        def product(self, x, kernel, multiply):
            return multiply(x * x, kernel)

    attach(projection, Inputs())
    with pytest.raises(InputError, match="Inputs changes a product in a way that no single kernel does"):
        hooks.merge_kernel(projection, projection.kernel)


@pytest.mark.parametrize("fast", [{}, {"remove_padding": True, "last_where_read": True}, {"recompute": True}])
def test_a_hook_of_the_encoder_runs_around_each_layer(reference_config, reference_batches, fast):
    """It skips the first layer and doubles what the second gives; both ways of a hook."""
    batch = {name: tf.constant(values[0]) for name, values in reference_batches.items()}
    encoder = make_encoder(reference_config, **fast)
    numbers = []

    def hook(number, layer, x, run):
        numbers.append(number)
        if number == 0:
            return x, None
        output, attention = run(layer, x)
        return 2.0 * output, attention

    model = models.BertClassifier(encoder, 3)
    with attached([(encoder, hook)]):
        changed = encoder(batch)
        logits = model(batch)["logits"]
    assert numbers == [0, 1] * 2
    real = batch["input_mask"].numpy() > 0
    np.testing.assert_array_equal(changed["encoder_outputs"][0][real], changed["embedding_output"][real])
    expected = model.head(encoder.pooler(changed["sequence_output"][:, 0]))
    np.testing.assert_allclose(logits, expected, rtol=0, atol=2e-5)
    assert len(encoder.hooks) == ("recompute" in fast)


def test_masks_are_hooks_that_end(reference_config, reference_batches):
    batch = {name: tf.constant(values[0]) for name, values in reference_batches.items()}
    encoder = make_encoder(reference_config)
    with masked(encoder, heads=[tf.zeros([4]), tf.ones([4])]):
        without = encoder(batch)["sequence_output"]
    assert np.abs(without - encoder(batch)["sequence_output"]).max() > 1e-4
    assert not any(layer.attention_output.hooks for layer in encoder.encoder_layers)
