"""Fake quantization computes the same as the int8 LiteRT file; its gradient ignores rounding."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import losses, models
from bert_tf.serving import litert
from bert_tf.tasks.classifier.graph import ServedClassifier
from bert_tf.tasks.metadata import TaskMetadata
from bert_tf.techniques import int8
from bert_tf.techniques.int8 import FakeQuantization, quantize
from tests import toy_servables
from tests.encoders import make_encoder
from tests.errors import Message, raises_message
from tests.gradients import assert_close, compute_gradients

# LiteRT quantizes matrices of at least 1,024 elements.
CONFIG = dataclasses.replace(
    toy_servables.CONFIG,
    hidden_size=48,
    num_hidden_layers=2,
    intermediate_size=96,
    initializer_range=0.2,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)
PRUNED = dataclasses.replace(
    CONFIG,
    attention_heads_per_layer=(3, 2),
    intermediate_size_per_layer=(64, 40),
    embedding_size=24,
)


def make_model(config, **options):
    """Returns a classifier whose biases and normalization are not at their initial values."""
    model = models.BertClassifier(make_encoder(config, **options), 3)
    for number, variable in enumerate(model.trainable_variables):
        if variable.shape.rank == 1:
            variable.assign_add(tf.random.stateless_normal(variable.shape, [number, 5], stddev=0.3))
    return model


@pytest.fixture(scope="module")
def features(toy_tokenizer):
    return {
        name: tf.constant(value)
        for name, value in toy_tokenizer.encode(
            toy_servables.TEXTS, ["a dog", "of", "it is " * 20, ""], max_seq_length=24
        ).items()
    }


@pytest.mark.extra_large
@pytest.mark.parametrize("config", [CONFIG, PRUNED], ids=["full", "pruned"])
def test_the_int8_file_and_the_model_agree(config, toy_tokenizer, tmp_path):
    """They agree to 1e-5; without fake quantization, they differ by more than 2e-3."""
    model = make_model(config, layer="litert")
    servable = ServedClassifier(
        model,
        toy_tokenizer,
        TaskMetadata("classifier", 24, True, tuple("xyz"), pairs=True),
        static_length=True,
    )
    path = tmp_path / "model.tflite"
    path.write_bytes(litert.convert_servable(servable, "int8", lengths=(24,), batch_sizes=(1,)))
    assert max(litert.largest_differences(servable, str(path)).values()) > 2e-3
    quantize(model, FakeQuantization())
    assert max(litert.largest_differences(servable, str(path)).values()) < 1e-5


@pytest.mark.large
@pytest.mark.parametrize(
    "options",
    [{"layer": "compiled", "remove_padding": True}, {"recompute": True}, {"last_where_read": True}],
)
def test_gradients_ignore_rounding(features, options, monkeypatch):
    batch = features | {"label_ids": tf.constant([2, 0, 1, 1])}
    model = make_model(CONFIG, **options)
    expected = compute_gradients(model, batch, losses.classification_loss)
    quantize(model, FakeQuantization())
    rounded = compute_gradients(model, batch, losses.classification_loss)
    assert abs(rounded["loss"] - expected["loss"]) > 1e-5
    assert all(np.any(each) for each in rounded.values())
    for name in ("quantize_rows", "quantize_weights"):
        monkeypatch.setattr(int8, name, lambda value, **axis: value)
    assert_close(compute_gradients(model, batch, losses.classification_loss), expected, 1e-5)


@pytest.mark.extra_large
def test_turning_it_on_in_a_traced_function(features):
    model = make_model(CONFIG)
    step = tf.Variable(0)
    expected = tf.function(model)(features)["logits"]
    quantize(model, FakeQuantization(lambda: step >= 3))
    run = tf.function(lambda features: model(features)["logits"])
    np.testing.assert_allclose(run(features), expected, atol=1e-5)
    step.assign(3)
    assert np.abs(run(features) - expected).max() > 1e-4
    quantize(model, None)
    np.testing.assert_array_equal(model(features)["logits"], make_model(CONFIG)(features)["logits"])


def test_weights_by_hand():
    """Each column has its own scale; a column of zeros has none."""
    values, scales = int8.split_weights(
        tf.constant([[127.0, 0.0, -0.5], [-63.6, 0.0, 1.0]]), axis=0
    )
    np.testing.assert_array_equal(values, [[127, 0, -64], [-64, 0, 127]])
    np.testing.assert_array_equal(scales, np.array([[1, 0, 1 / 127]], np.float32))


def test_rows_by_hand():
    """The range of a row includes 0, and a row of zeros is unchanged."""
    rows = tf.constant([[-1.0, 0.0, 1.55], [0.2, 0.4, 0.51], [0.0, 0.0, 0.0]])
    found = int8.quantize_rows(rows).numpy()
    np.testing.assert_allclose(found, [[-1.0, 0.0, 1.55], [0.2, 0.4, 0.51], [0, 0, 0]], atol=0.006)
    np.testing.assert_allclose(found[1], np.round(rows[1] / 0.002) * 0.002, atol=1e-6)
    weights = tf.constant([[1.27, 0.1], [0.018, -0.2]])
    np.testing.assert_allclose(
        int8.quantize_weights(weights, axis=0),
        # 63.5 rounds to even, 64.
        [[1.27, 0.2 * 64 / 127], [0.02, -0.2]],
        atol=1e-6,
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"num_hidden_groups": 1},
            Message(
                None, "num_hidden_groups is 1", "layers that share weights", "cannot be trained"
            ),
        ),
        (
            {"embedding_size": 24, "project_embedding_sum": True},
            Message(None, "project_embedding_sum is True", "model with this projection"),
        ),
    ],
)
def test_rejected_models(change, message):
    model = models.BertClassifier(dataclasses.replace(CONFIG, **change), 3)
    with raises_message(message):
        quantize(model, FakeQuantization())
