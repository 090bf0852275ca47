"""Low-rank adapters by hand, their trained variables, and merged kernels."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.checkpoints import model_tensors
from bert_tf.checkpoints.adapters import merge_adapters
from bert_tf.techniques import lora
from tests.encoders import make_encoder

pytestmark = pytest.mark.large

RANK = 3
ALPHA = 6.0


def make_model(config, frozen_layers=0, *, is_trained=True, **options):
    """Returns a classifier with adapters; if `is_trained`, they are not 0."""
    model = models.BertClassifier(make_encoder(config, seed=5, **options), 3)
    lora.add_adapters(model.encoder, RANK, ALPHA, 7, frozen_layers)
    for number, adapter in enumerate(model.encoder.adapters if is_trained else ()):
        adapter.lora_b.assign(0.1 * tf.random.stateless_normal(adapter.lora_b.shape, (1, number)))
    return model


def test_new_adapters_change_nothing(reference_config, batch):
    plain = models.BertClassifier(models.BertEncoder(reference_config, seed=5), 3)(batch)["logits"]
    model = make_model(reference_config, is_trained=False)
    np.testing.assert_array_equal(model(batch)["logits"], plain)
    first = model.encoder.adapters[0].lora_a
    assert first.name == "bert/encoder/layer_0/attention/self/qkv/lora_a:0"
    assert first.shape == [32, 3 * RANK]  # For query, key, and value.


@pytest.mark.parametrize(
    "options",
    [{}, {"layer": "einsum"}, {"remove_padding": True}],
    ids=["plain", "einsum", "unpadded"],
)
def test_merged_kernels_compute_the_same(reference_config, batch, options):
    model = make_model(reference_config, **options)
    tensors = {name: tensor.read() for name, tensor in merge_adapters(model_tensors(model)).items()}
    traced = tf.function(lambda: model(batch)["logits"])
    expected = traced().numpy()
    lora.merge_into_kernels(model.encoder)
    np.testing.assert_allclose(model(batch)["logits"], expected, rtol=0, atol=1e-6)
    # The traced function still computes the adapters.
    np.testing.assert_allclose(traced(), expected, rtol=0, atol=1e-6)
    for name, tensor in model_tensors(model).items():
        if "lora" not in name:
            np.testing.assert_allclose(
                tensors.pop(name), tensor.read(), rtol=0, atol=1e-6, err_msg=name
            )
    assert not tensors


def test_an_adapter_by_hand(reference_config):
    """Query, key, and value have separate adapters."""
    projection = make_model(reference_config).encoder.encoder_layers[1].attention.qkv
    x = np.random.default_rng(2).normal(size=[5, 32]).astype(np.float32)
    a, b = (weight.numpy() for weight in (projection.hooks[0].lora_a, projection.hooks[0].lora_b))
    expected = x @ projection.kernel.numpy() + projection.bias.numpy()
    for part in range(3):
        columns = slice(32 * part, 32 * (part + 1))
        expected[:, columns] += (
            ALPHA / RANK * x @ a[:, RANK * part : RANK * (part + 1)] @ b[:, columns]
        )
    np.testing.assert_allclose(projection(tf.constant(x)), expected, rtol=0, atol=1e-5)


def test_mixed_precision(reference_config, batch):
    model = make_model(reference_config, dtype="mixed_bfloat16")
    assert all(adapter.lora_a.dtype == tf.float32 for adapter in model.encoder.adapters)
    expected = make_model(reference_config)(batch)["logits"]
    np.testing.assert_allclose(model(batch)["logits"], expected, rtol=0, atol=0.1)


def test_layers_that_share_their_weights_share_adapters(reference_config):
    encoder = models.BertEncoder(dataclasses.replace(reference_config, num_hidden_groups=1))
    lora.add_adapters(encoder, RANK, ALPHA, 7)
    assert len(encoder.adapters) == 4
