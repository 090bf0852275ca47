"""Exports for OpenVINO that compute in int8, with ranges from each input or from examples."""

import dataclasses
import os
import sys

import numpy as np
import pytest

from bert_tf import models
from bert_tf.serving import openvino, openvino_ranges
from bert_tf.serving.description import ModelDescription
from bert_tf.serving.loading import open_export
from bert_tf.tasks.classifier.graph import ServedClassifier
from bert_tf.techniques import int8
from tests import toy_servables
from tests.encoders import make_encoder
from tests.errors import rejects
from tests.toy_servables import (
    CONFIG,
    METADATA,
    REQUESTS,
    assert_near,
    compute_outputs,
    make_servable,
    respond,
)
from tests.variants import mark_variants

pytestmark = [pytest.mark.large, pytest.mark.timeout(300)]


def make_wide_servable(tokenizer, round_weights=False):
    """Creates a classifier whose matrices have at least 1,024 elements, as int8 files require.

    If `round_weights`, they have the values that their int8 form can represent.
    """
    config = dataclasses.replace(
        CONFIG, hidden_size=48, intermediate_size=144, initializer_range=0.2
    )
    model = models.BertClassifier(make_encoder(config, layer="openvino"), 3)
    if round_weights:
        kernels = [weight for weight in model.weights if "kernel" in weight.name]
        for weight in [*kernels, model.encoder.embeddings.word_embeddings]:
            if weight.shape.num_elements() >= int8.MIN_ELEMENTS:
                axis = 0 if "kernel" in weight.name else 1
                weight.assign(int8.quantize_weights(weight.read_value(), axis))
    return ServedClassifier(model, tokenizer, METADATA["classifier"])


def test_int8_in_openvino(toy_tokenizer, tmp_path):
    """The weights are rounded to int8; then, by default, also the inputs of multiplications."""
    runtime = pytest.importorskip("openvino")
    servable = make_wide_servable(toy_tokenizer)
    sizes = {}
    for weights in ("float32", "int8"):
        openvino.write(servable, str(tmp_path / f"{weights}.xml"), weights=weights)
        sizes[weights] = (tmp_path / f"{weights}.bin").stat().st_size
    assert sizes["int8"] < 0.35 * sizes["float32"]

    path = str(tmp_path / "int8.xml")
    core = runtime.Core()
    compiled = core.compile_model(path, "CPU")
    assert compiled.get_property("DYNAMIC_QUANTIZATION_GROUP_SIZE") == 48
    generator = np.random.default_rng(1)
    features = {
        "input_ids": generator.integers(5, 39, [3, 11], np.int32),
        "input_mask": np.ones([3, 11], np.int32),
        "segment_ids": np.zeros([3, 11], np.int32),
    }
    hints = {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0}
    exact = core.compile_model(path, "CPU", hints)
    rounded = compute_outputs(make_wide_servable(toy_tokenizer, round_weights=True), features)
    assert_near(exact(features)[0], rounded["logits"])
    differences = rounded["logits"] - compute_outputs(servable, features)["logits"]
    assert np.abs(differences).max() > 1e-3

    request = REQUESTS["classifier"]
    found = open_export(path)(**request)["probabilities"]
    np.testing.assert_allclose(found, respond(servable, request)["probabilities"], atol=0.05)


@pytest.fixture
def wide_models(monkeypatch):
    """Toy models whose matrices are large enough for int8."""
    wide = dataclasses.replace(CONFIG, hidden_size=48, intermediate_size=144, initializer_range=0.1)
    monkeypatch.setattr(toy_servables, "CONFIG", wide)


def assert_similar_responses(path, servable, request):
    """Asserts that the floats of two responses differ by at most 0.05."""
    found = open_export(path)(**request)
    expected = respond(servable, request)
    floats = [name for name, value in expected.items() if value.dtype.kind == "f"]
    for name in set(floats) - {"sequence_output"}:
        np.testing.assert_allclose(found[name], expected[name], rtol=0, atol=0.05, err_msg=name)


@pytest.mark.parametrize("kind", mark_variants(REQUESTS, "classifier"))
def test_all_kinds_in_int8(kind, toy_tokenizer, tmp_path, wide_models):
    """A second export replaces the first one."""
    pytest.importorskip("openvino")
    servable = make_servable(kind, toy_tokenizer, "openvino", remove_padding=False)
    path = str(tmp_path / "model.xml")
    openvino.write(servable, path)
    assert openvino.write(servable, path, weights="int8") is None
    assert_similar_responses(path, servable, REQUESTS[kind])


@pytest.mark.parametrize("kind", mark_variants(REQUESTS, "classifier"))
def test_all_kinds_with_static_ranges(kind, toy_tokenizer, tmp_path, wide_models):
    runtime = pytest.importorskip("openvino")
    pytest.importorskip("nncf")
    servable = make_servable(kind, toy_tokenizer, "openvino", remove_padding=False)
    path = str(tmp_path / "model.xml")
    request = REQUESTS[kind]
    differences = openvino.write(servable, path, weights="int8", texts=request)
    assert differences
    assert all(0 < value < 0.1 for value in differences.values())
    assert_similar_responses(path, servable, request)
    model = runtime.Core().read_model(path)
    operations = [node.get_type_name() for node in model.get_ops()]
    assert operations.count("FakeQuantize") >= 6 * CONFIG.num_hidden_layers
    products = [node for node in model.get_ops() if node.get_type_name() == "MatMul"]
    kernels = [node.input_value(1).get_node() for node in products]
    floats = [list(node.shape) for node in kernels if node.get_type_name() == "Constant"]
    assert floats == [[2, 48]]  # That of the token types.


@pytest.mark.extra_large
def test_static_ranges_are_deterministic(toy_tokenizer, tmp_path, wide_models):
    pytest.importorskip("openvino")
    pytest.importorskip("nncf")
    servable = make_servable("classifier", toy_tokenizer, "openvino", remove_padding=False)
    contents = []
    for name in ("first", "second"):
        path = tmp_path / f"{name}.xml"
        openvino.write(servable, str(path), weights="int8", texts=REQUESTS["classifier"])
        contents.append(path.with_suffix(".bin").read_bytes())
    assert contents[0] == contents[1]


def test_static_ranges_without_nncf(toy_tokenizer, tmp_path, monkeypatch):
    pytest.importorskip("openvino")
    monkeypatch.setitem(sys.modules, "nncf", None)
    monkeypatch.delenv(openvino_ranges.TELEMETRY_SWITCH, raising=False)
    servable = make_servable("tagger", toy_tokenizer, "openvino", remove_padding=False)
    with rejects("calibration_file", "requires nncf", "pip install 'bert-tf[calibration]'"):
        openvino.write(servable, str(tmp_path / "m.xml"), "int8", texts=REQUESTS["tagger"])
    assert not list(tmp_path.iterdir())
    assert openvino_ranges.TELEMETRY_SWITCH not in os.environ


def test_rows_of_a_calibration(toy_tokenizer, monkeypatch):
    """They are those of the plain tokenizer, as many as allowed, from the complete sample."""
    servable = make_servable("encoder", toy_tokenizer, remove_padding=False)
    described = ModelDescription.from_servable(servable)

    def compute(features):
        shape = [*features["input_ids"].shape, 2]
        return {"sequence_output": np.zeros(shape, np.float32)}

    texts = [f"the dog {word}" for word in ["fox", "lazy", "mary", "went", "book"]]
    rows = openvino_ranges.list_rows(compute, described, {"text": texts})
    expected = toy_tokenizer.encode(texts, max_seq_length=5)["input_ids"].numpy().tolist()
    assert sorted(row.ids for row in rows) == sorted(expected)
    monkeypatch.setattr(openvino_ranges, "MAX_EXAMPLES", 2)
    assert openvino_ranges.list_rows(compute, described, {"text": texts}) == rows[::3]


@pytest.mark.parametrize(
    ("num_inputs", "size"), [({48, 144}, 48), ({768, 3072}, 768), ({64, 96}, 32), ({48, 143}, 48)]
)
def test_group_size_in_openvino(num_inputs, size):
    assert openvino._choose_group_size(num_inputs, hidden_size=min(num_inputs)) == size
