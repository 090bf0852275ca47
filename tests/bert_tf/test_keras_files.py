"""Models that a fresh process reads from .keras files, .h5 weights, and SavedModels give the same bits, unwarned."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from bert_tf import fast, models
from bert_tf.optimization import create_optimizer
from tests.bert_tf import keras_cases
from tests.bert_tf.test_keras_harness import randomize

ROOT = pathlib.Path(__file__).parent.parent.parent
TEXT = ("input_ids", "input_mask", "segment_ids")


def keras_inputs(names):
    return {name: tf_keras.Input([None], dtype=tf.int32, name=name) for name in names}


def make_functional(dtype):
    inputs = keras_inputs(TEXT)
    pooled = models.BertEncoder(keras_cases.CONFIG, seed=5, dtype=dtype)(inputs)["pooled_output"]
    logits = tf_keras.layers.Dense(4, dtype="float32", name="mine")(tf_keras.layers.Dropout(0.1)(pooled))
    return tf_keras.Model(inputs, {"logits": logits})


def make_shared(dtype):
    """A functional model of two task models with one encoder."""
    inputs = keras_inputs(TEXT)
    encoder = models.BertEncoder(keras_cases.CONFIG, seed=5, dtype=dtype)
    return tf_keras.Model(inputs, {
        "class": models.BertClassifier(encoder, 3)(inputs)["logits"],
        "tags": models.BertTokenClassifier(encoder, 4)(inputs)["logits"]})


MODELS = {
    "functional": make_functional,
    "classifier": lambda dtype: models.BertClassifier(models.BertEncoder(keras_cases.CONFIG, dtype=dtype), 3),
    "fast_classifier": lambda dtype: models.BertClassifier(fast.FastEncoder(
        keras_cases.CONFIG, fast.Fast(remove_padding=True, last_where_read=True, compiled=True), dtype=dtype), 3),
    "token_classifier": lambda dtype: models.BertTokenClassifier(
        models.BertEncoder(keras_cases.CONFIG, dtype=dtype), 3),
    "pretrainer": lambda dtype: models.BertPretrainer(models.BertEncoder(keras_cases.CONFIG, dtype=dtype)),
    "shared": make_shared,
}
COMPILED = ("functional", "classifier", "shared")


@pytest.mark.timeout(180)
def test_round_trips_in_a_fresh_process(tmp_path, caplog, recwarn):
    features = {name: value for name, value in keras_cases.make_features().items() if name != "x"}
    np.savez(tmp_path / "features.npz", **features)
    names = []
    for kind, make in MODELS.items():
        for dtype in ("float32", "mixed_bfloat16"):
            model = make(dtype)
            if kind in COMPILED:
                model.compile(create_optimizer(1e-3, 10, 1), "sparse_categorical_crossentropy", ["accuracy"])
                model.optimizer.build(model.trainable_variables)
            randomize(model)
            folder = tmp_path / f"{kind} {dtype}"
            folder.mkdir()
            names.append(folder.name)
            inputs = [*TEXT, *(["masked_lm_positions"] if kind == "pretrainer" else [])]
            if kind in COMPILED:
                (folder / "compiled").touch()
            (folder / "inputs.json").write_text(json.dumps(inputs))
            outputs = model({name: features[name] for name in inputs})
            np.savez(folder / "outputs.npz", **{name: tf.cast(value, tf.float32) for name, value in outputs.items()})
            model.save(folder / "model.keras")
            model.save_weights(folder / "model.weights.h5")
            model.save_weights(folder / "model.h5")
            model.save(folder / "saved")
    assert [record.getMessage() for record in caplog.records if record.levelname != "INFO"] == []
    assert [str(warning.message) for warning in recwarn] == []

    process = subprocess.run(
        [sys.executable, pathlib.Path(__file__).parent / "keras_reader.py", tmp_path], capture_output=True, text=True,
        check=False, env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "",
                          "PYTHONPATH": str(ROOT)})
    assert process.returncode == 0, process.stderr[-3000:]
    report = json.loads(process.stdout.splitlines()[-1])
    assert report["messages"] == []
    assert len(report["differences"]) == 5 * len(names)
    assert {name: value for name, value in report["differences"].items() if value} == {}


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_clone(dtype):
    model = make_functional(dtype)
    randomize(model)
    clone = tf_keras.models.clone_model(model)
    features = {name: value for name, value in keras_cases.make_features().items() if name in TEXT}
    clone.set_weights(model.get_weights())
    for name, value in model(features).items():
        np.testing.assert_array_equal(clone(features)[name], value)


def test_published_number_of_parameters(capsys):
    from bert_tf.config import BertConfig

    with tf.device("CPU:0"):
        encoder = models.BertEncoder(BertConfig.from_name("base"))
    encoder.summary()
    assert "Total params: 109482240" in capsys.readouterr().out.replace(",", "")
