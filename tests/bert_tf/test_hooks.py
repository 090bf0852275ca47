"""Hooks of layers, their order, and that they end with their context; and an encoder that computes layers otherwise."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.errors import InputError
from bert_tf.fast.einsum import merge_kernel
from bert_tf.layers import Projection, WeightInitializer
from bert_tf.techniques.hooks import Hook, attach, attach_hooks, detach
from tests.encoders import make_encoder

T, K, M = 3, 5, 7


class Scale(Hook):
    """Multiplies a kernel by a factor, and records each call."""

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


def test_the_last_hook_is_outermost_and_untracked(projection):
    x, called = tf.ones([T, K]), []
    plain, weights = projection(x), len(projection.weights)
    inner, outer = Scale(2.0, called), Scale(3.0, called)
    attach(projection, inner)
    attach(projection, outer)
    np.testing.assert_allclose(projection(x), 6 * plain, rtol=1e-6)
    assert called == [3.0, 2.0]
    np.testing.assert_allclose(merge_kernel(projection), 6 * projection.kernel, rtol=1e-6)
    assert len(projection.weights) == weights
    assert projection.submodules == ()
    detach(projection, inner)
    np.testing.assert_allclose(projection(x), 3 * plain, rtol=1e-6)


def test_a_context_detaches_its_hooks_also_after_an_error(projection):
    x = tf.ones([T, K])
    plain = projection(x)
    with attach_hooks([(projection, Scale(2.0, []))]):
        np.testing.assert_allclose(projection(x), 2 * plain, rtol=1e-6)
    np.testing.assert_array_equal(projection(x), plain)
    with pytest.raises(tf.errors.InvalidArgumentError), attach_hooks([(projection, Scale(2.0, []))]):
        projection(tf.ones([T, K + 1]))
    np.testing.assert_array_equal(projection(x), plain)
    assert projection.hooks == ()


def test_rejected_merge_of_a_nonlinear_hook(projection):
    class Inputs(Hook):
        def product(self, x, kernel, multiply):
            return multiply(x * x, kernel)

    attach(projection, Inputs())
    with pytest.raises(InputError, match="Inputs cannot be merged into a single kernel"):
        merge_kernel(projection)


@pytest.mark.parametrize("fast", [{}, {"layers": "unpadded", "last_where_read": True}, {"recompute": True}])
def test_compute_layer_can_be_overridden(reference_config, batch, fast, monkeypatch):
    """The override skips the first layer and doubles the output of the second."""
    encoder = make_encoder(reference_config, **fast)
    numbers, compute = [], encoder.compute_layer

    def compute_layer(number, layer, x, *batch, **options):
        numbers.append(number)
        return x if number == 0 else 2.0 * compute(number, layer, x, *batch, **options)

    model = models.BertClassifier(encoder, 3)
    monkeypatch.setattr(encoder, "compute_layer", compute_layer)
    changed = encoder(batch)
    logits = model(batch)["logits"]
    assert numbers == [0, 1] * 2
    real = batch["input_mask"].numpy() > 0
    np.testing.assert_array_equal(changed["encoder_outputs"][0][real], changed["embedding_output"][real])
    expected = model.head(encoder.pooler(changed["sequence_output"][:, 0]))
    np.testing.assert_allclose(logits, expected, rtol=0, atol=2e-5)
