"""Configs, training steps, graphs, and files of all models; configs of other objects."""

import json

import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from bert_tf import losses, models
from bert_tf.fast import CastWeights
from bert_tf.layers.hooks import Hook, attach, detach
from bert_tf.optimization import create_optimizer
from bert_tf.techniques import lora
from tests.bert_tf.keras_cases import CONFIG, FEATURES, MODELS, OBJECTS, call, randomize
from tests.errors import rejects


def assert_equal(found, expected):
    tf.nest.map_structure(
        np.testing.assert_array_equal,
        tf.nest.map_structure(np.asarray, found),
        tf.nest.map_structure(np.asarray, expected),
    )


@pytest.mark.large
@pytest.mark.parametrize("name", MODELS)
def test_a_training_step_changes_all_used_variables(name):
    model = MODELS[name]("mixed_bfloat16")
    randomize(model)
    variables = model.trainable_variables
    before = model.get_weights()
    with tf.GradientTape() as tape:
        outputs = tf.nest.flatten(call(model, FEATURES, training=True))
        loss = tf.add_n(
            [tf.reduce_mean(tf.square(tf.cast(each, tf.float32) - 1.0)) for each in outputs]
        )
    create_optimizer(0.1, 10, 0).apply_gradients(
        zip(tape.gradient(loss, variables), variables, strict=True)
    )
    for variable, old in zip(model.weights, before, strict=True):
        is_unused = "pooler" in variable.name and name in ("BertTokenClassifier", "BertSpanLabeler")
        assert np.isfinite(variable).all(), variable.name
        assert np.any(variable != old) == (not is_unused), variable.name


@pytest.mark.extra_large
@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
@pytest.mark.parametrize("name", MODELS)
def test_graphs_files_and_configs(name, dtype, tmp_path, caplog):
    model = MODELS[name](dtype)
    randomize(model)
    eager = call(model, FEATURES)
    graph = tf.function(
        lambda features: call(model, features),
        input_signature=[
            {name: tf.TensorSpec([None, None], value.dtype) for name, value in FEATURES.items()}
        ],
    )
    tolerance = 1e-5 if dtype == "float32" else 0.1
    tf.nest.map_structure(
        lambda one, other: np.testing.assert_allclose(
            tf.cast(one, tf.float32), tf.cast(other, tf.float32), rtol=tolerance, atol=tolerance
        ),
        eager,
        graph(FEATURES),
    )

    caplog.clear()  # TensorFlow reports a new function for each case as retracing.
    model.save(tmp_path / "model.keras")
    loaded = tf_keras.models.load_model(tmp_path / "model.keras")
    assert caplog.records == []
    assert tf_keras.saving.get_registered_name(type(model)) == f"bert_tf>{name}"
    assert loaded.get_config() == model.get_config()
    assert (loaded.name, loaded.dtype_policy.name) == (model.name, model.dtype_policy.name)
    assert [each.name for each in loaded.weights] == [each.name for each in model.weights]
    assert_equal(loaded.weights, model.weights)
    assert_equal(call(loaded, FEATURES), eager)
    again = type(model).from_config(json.loads(json.dumps(model.get_config())))
    assert_equal(again.weights, MODELS[name](dtype).weights)  # The seeds are equal, too.
    again.set_weights(model.get_weights())
    assert_equal(call(again, FEATURES, training=True), call(model, FEATURES, training=True))


@pytest.mark.parametrize("name", OBJECTS)
def test_object(name):
    value = OBJECTS[name]
    assert tf_keras.saving.get_registered_name(type(value)) == f"bert_tf>{name}"
    config = json.loads(json.dumps(value.get_config(), default=float))
    again = type(value).from_config(dict(config))  # Keras changes it.
    assert json.loads(json.dumps(again.get_config(), default=float)) == config
    serialized = json.loads(json.dumps(tf_keras.saving.serialize_keras_object(value)))
    assert type(tf_keras.saving.deserialize_keras_object(serialized)) is type(value)


def test_other_losses_cannot_be_saved():
    with rejects(None, "only the losses", "bert_tf.losses can be saved"):
        losses.TotalLoss(losses.Term("loss", lambda outputs, features: outputs)).get_config()


def test_frozen_layers_stay_frozen():
    model = models.BertClassifier(CONFIG, 3)
    model.encoder.embeddings.trainable = False
    model.encoder.encoder_layers[0].trainable = False
    again = models.BertClassifier.from_config(model.get_config())
    assert [each.name for each in again.trainable_weights] == [
        each.name for each in model.trainable_weights
    ]
    masked_lm = models.BertPretrainer(CONFIG, sentence_label=None)
    again = models.BertPretrainer.from_config(masked_lm.get_config())
    assert not again.encoder.pooler.trainable


class Doubled(Hook):
    def product(self, x, kernel, multiply):
        return 2 * multiply(x, kernel)


def test_hooks_and_replaced_weights_cannot_be_saved(tmp_path):
    model = models.BertClassifier(models.BertEncoder(CONFIG, dtype="mixed_bfloat16"), 3)
    call(model, FEATURES)

    def assert_reported(layer):
        for save in (
            model.get_config,
            lambda: model.save(tmp_path / "model.keras"),
            lambda: model.save(tmp_path / "saved"),
        ):
            with rejects(None, f"layer '{layer}' has a hook", "other weights"):
                save()

    hook = Doubled()
    attach(model.encoder.pooler, hook)
    assert_reported("dense")
    detach(model.encoder.pooler, hook)
    cast = CastWeights(model)
    cast.refresh()
    with cast.apply():
        assert_reported("qkv")
    model.get_config()
    lora.add_adapters(model.encoder, 2, 4.0, seed=1)
    assert_reported("qkv")
    lora.merge_into_kernels(model.encoder)
    assert_reported("bert")
