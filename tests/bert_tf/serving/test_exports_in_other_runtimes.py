"""Runtimes that open SavedModels of IDs and LiteRT files: Keras 3, OpenVINO, and ONNX Runtime."""

import os
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf.features import FEATURES
from bert_tf.serving import litert, saved_model
from bert_tf.serving.loading import open_export
from bert_tf.tasks import KINDS
from tests.errors import rejects
from tests.graphs import list_operations
from tests.toy_servables import (
    METADATA,
    PIECES,
    REQUESTS,
    assert_near,
    compute_outputs,
    make_servable,
)
from tests.variants import mark_variants

# The first test exports seven models.
pytestmark = [pytest.mark.large, pytest.mark.timeout(300)]

ROWS = 3
LENGTH = 11
EXACT = {"INFERENCE_PRECISION_HINT": "f32"}  # OpenVINO's default on some CPUs is bfloat16.


@pytest.fixture(scope="module")
def features():
    generator = np.random.default_rng(1)
    ids = generator.integers(5, len(PIECES.split()), [ROWS, LENGTH])
    ids[0, [2, 7]] = ids[2, 1] = PIECES.split().index("[MASK]")
    return {
        "input_ids": ids.astype(np.int32),
        "input_mask": (np.arange(LENGTH) < [[11], [4], [7]]).astype(np.int32),
        "segment_ids": np.repeat((np.arange(LENGTH) > 3)[np.newaxis], ROWS, 0).astype(np.int32),
    }


@pytest.fixture(scope="module")
def servables(toy_tokenizer):
    return {name: make_servable(name, toy_tokenizer, remove_padding=False) for name in REQUESTS}


@pytest.fixture(scope="module")
def folder(servables, tmp_path_factory):
    """A directory with the SavedModel NAME/1 of each task, which takes IDs."""
    folder = tmp_path_factory.mktemp("ids")
    for name, servable in servables.items():
        saved_model.save(servable, str(folder / name), signatures=saved_model.IDS_ONLY)
    return folder


def assert_same_numbers(found, expected, features, kind):
    """Asserts that outputs by name differ by at most 1e-5 at tokens."""
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        other = found[name]
        assert other.shape == value.shape, name
        if name in KINDS[kind].per_position:
            other, value = (each[features["input_mask"] > 0] for each in (other, value))
        assert_near(other, value)


def answer_with_openvino(runtime, model, features):
    """Returns the outputs of a model of OpenVINO by name."""
    compiled = runtime.Core().compile_model(model, "CPU", EXACT)
    outputs = compiled(features)
    return {output.get_any_name(): outputs[output] for output in compiled.outputs}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_saved_model_of_ids_has_one_signature_of_numbers(folder, servables, features, name):
    path = str(folder / name / "1")
    loaded = tf.saved_model.load(path)
    (signature,) = loaded.signatures.values()
    inputs = signature.structured_input_signature[1]
    assert {*inputs} == {*FEATURES}
    assert not signature.structured_outputs.keys() & inputs.keys()
    assert all(spec.dtype.is_numeric for spec in signature.structured_outputs.values())
    operations = {each.type for each in list_operations(signature.graph)}
    assert not {each for each in operations if "String" in each or "Bert" in each}
    assert not operations & {"Assert", "EnsureShape", "LookupTableFindV2", "Where"}
    found = signature(**{name: tf.constant(value) for name, value in features.items()})
    assert_same_numbers(
        {name: value.numpy() for name, value in found.items()},
        compute_outputs(servables[name], features),
        features,
        METADATA[name].kind,
    )


def test_keras_3_opens_a_saved_model_of_ids(folder, servables, features):
    layer = keras.layers.TFSMLayer(str(folder / "classifier" / "1"))
    expected = compute_outputs(servables["classifier"], features)
    assert_near(layer(features)["logits"].numpy(), expected["logits"])


def test_texts_need_the_other_signatures(folder):
    with rejects(None, "takes IDs, not texts", "export it"):
        open_export(str(folder / "classifier"))


@pytest.mark.parametrize("name", mark_variants(REQUESTS, "classifier", "squad"))
def test_openvino_opens_a_saved_model_of_ids(folder, servables, features, name):
    runtime = pytest.importorskip("openvino")
    found = answer_with_openvino(
        runtime, runtime.Core().read_model(str(folder / name / "1")), features
    )
    expected = compute_outputs(servables[name], features)
    assert_same_numbers(found, expected, features, METADATA[name].kind)


@pytest.mark.extra_large
@pytest.mark.parametrize("name", ["pretrained", "classifier"])
def test_tf2onnx_converts_a_saved_model_of_ids(folder, servables, features, name, tmp_path):
    """It runs in its own process: it changes TensorFlow's settings."""
    pytest.importorskip("tf2onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    path = str(tmp_path / "model.onnx")
    source = str(folder / name / "1")
    command = [sys.executable, "-m", "tf2onnx.convert", "--saved-model", source, "--output", path]
    subprocess.run(
        command, check=True, capture_output=True, env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    )
    session = onnxruntime.InferenceSession(path)
    names = [output.name for output in session.get_outputs()]
    found = dict(zip(names, session.run(None, features), strict=True))
    expected = compute_outputs(servables[name], features)
    assert_same_numbers(found, expected, features, METADATA[name].kind)


@pytest.mark.parametrize("name", mark_variants(REQUESTS, "classifier"))
def test_openvino_opens_litert_files(toy_tokenizer, name, tmp_path, features):
    """OpenVINO reads the first graph, which is the only one without a masked LM's head."""
    runtime = pytest.importorskip("openvino")
    servable = make_servable(name, toy_tokenizer, layer="litert")
    path = str(tmp_path / "m.tflite")
    with open(path, "wb") as file:
        file.write(litert.convert_servable(servable, lengths=(LENGTH,), batch_sizes=(ROWS,)))
    model = runtime.Core().read_model(path)
    if hasattr(servable, "best_pieces"):
        assert [port.shape[0] for port in model.inputs] == [1]  # the head of one [MASK]
        return
    inputs = {
        port: next(features[each] for each in FEATURES if each in port.get_any_name())
        for port in model.inputs
    }
    compiled = runtime.Core().compile_model(model, "CPU", EXACT)
    found = compiled({port.get_any_name(): value for port, value in inputs.items()})
    expected = compute_outputs(servable, features, "compute_outputs")
    for name, output in zip(sorted(expected), compiled.outputs, strict=True):
        value = found[output]
        is_token = features["input_mask"] > 0
        if name in KINDS[servable.kind].per_position:
            assert_near(value[is_token], expected[name][is_token])
        else:
            assert_near(value, expected[name])
