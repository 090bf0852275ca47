"""Models that a fresh process loads from files of Keras have bit-identical outputs.

The files are .keras files, .h5 weights, and SavedModels.
"""

import json
import pathlib

import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from bert_tf import fast, models
from bert_tf.features import FEATURES
from bert_tf.optimization import create_optimizer
from tests import scripts
from tests.bert_tf import keras_cases
from tests.bert_tf.keras_cases import randomize

pytestmark = pytest.mark.extra_large

TEXT = FEATURES


def make_functional(dtype):
    inputs = {name: tf_keras.Input([None], dtype=tf.int32, name=name) for name in TEXT}
    pooled = models.BertEncoder(keras_cases.CONFIG, seed=5, dtype=dtype)(inputs)["pooled_output"]
    logits = tf_keras.layers.Dense(4, dtype="float32", name="mine")(
        tf_keras.layers.Dropout(0.1)(pooled)
    )
    return tf_keras.Model(inputs, {"logits": logits})


def make_models():
    """Returns {name: (model, names of its inputs)}."""
    fast_encoder = fast.FastEncoder(
        keras_cases.CONFIG,
        fast.Fast(layer="compiled", remove_padding=True, last_where_read=True),
        dtype="mixed_bfloat16",
    )
    return {
        "functional": (make_functional("float32"), TEXT),
        "fast classifier bfloat16": (models.BertClassifier(fast_encoder, 3), TEXT),
        "pretrainer": (models.BertPretrainer(keras_cases.CONFIG), (*TEXT, "masked_lm_positions")),
    }


@pytest.mark.timeout(180)
def test_round_trips_in_a_fresh_process(tmp_path, caplog, recwarn):
    for name, (model, inputs) in make_models().items():
        model.compile(
            create_optimizer(1e-3, 10, 1), "sparse_categorical_crossentropy", ["accuracy"]
        )
        model.optimizer.build(model.trainable_variables)
        randomize(model)
        inputs = {name: keras_cases.FEATURES[name] for name in inputs}
        outputs = model(inputs)
        model.save(tmp_path / name / "saved")
        model.save(tmp_path / name / "model.keras")
        model.save_weights(tmp_path / name / "model.weights.h5")
        np.savez(tmp_path / name / "inputs.npz", **inputs)
        np.savez(
            tmp_path / name / "outputs.npz",
            **{name: tf.cast(value, tf.float32) for name, value in outputs.items()},
        )
    assert [record.getMessage() for record in caplog.records if record.levelname != "INFO"] == []
    # TensorFlow and Keras use parts of Python that 3.12 and 3.13 deprecate.
    assert [
        str(each.message) for each in recwarn if not issubclass(each.category, DeprecationWarning)
    ] == []

    process = scripts.run_python(
        pathlib.Path(__file__).parent / "keras_reader.py",
        tmp_path,
        TF_CPP_MIN_LOG_LEVEL="3",
        CUDA_VISIBLE_DEVICES="",
    )
    assert process.returncode == 0, process.stderr[-3000:]
    assert "warning" not in process.stderr.lower(), process.stderr
    differences = json.loads(process.stdout.splitlines()[-1])
    assert len(differences) == 4 * len(make_models())
    for name, value in differences.items():
        assert value <= get_tolerance(name), name


def get_tolerance(name):
    """Returns the largest difference that a comparison of keras_reader.py may have."""
    if not name.endswith("signature"):
        return 0
    return 0.1 if "bfloat16" in name else 1e-5


def test_a_cloned_functional_model_computes_the_same():
    model = make_functional("mixed_bfloat16")
    randomize(model)
    clone = tf_keras.models.clone_model(model)
    clone.set_weights(model.get_weights())
    features = {name: value for name, value in keras_cases.FEATURES.items() if name in TEXT}
    np.testing.assert_array_equal(clone(features)["logits"], model(features)["logits"])
