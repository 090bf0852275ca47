"""Exports that other runtimes open: OpenVINO, ONNX Runtime, and Keras 3."""

import concurrent.futures
import dataclasses
import json
import os
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.errors import InputError
from bert_tf.features import FEATURES
from bert_tf.serving import litert, onnx, openvino, openvino_ranges, saved_model
from bert_tf.serving.description import ModelDescription
from bert_tf.serving.loading import open_export
from bert_tf.serving.plain_model import list_batches
from bert_tf.tasks import KINDS
from bert_tf.tasks.classifier.graph import ServedClassifier
from bert_tf.techniques import int8
from tests import scripts, toy_servables
from tests.encoders import make_encoder
from tests.errors import rejects
from tests.graphs import list_operations
from tests.toy_servables import (
    CONFIG,
    METADATA,
    PIECES,
    REQUESTS,
    TEXTS,
    assert_near,
    assert_same_responses,
    make_servable,
    respond,
)

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


def compute_expected(servable, features, function="compute_numbers"):
    """Returns the outputs of a Servable for rows: dict of arrays."""
    tensors = {name: tf.constant(value) for name, value in features.items()}
    return {name: value.numpy() for name, value in getattr(servable, function)(tensors).items()}


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
        compute_expected(servables[name], features),
        features,
        METADATA[name].kind,
    )


def test_keras_3_opens_a_saved_model_of_ids(folder, servables, features):
    layer = keras.layers.TFSMLayer(str(folder / "classifier" / "1"))
    expected = compute_expected(servables["classifier"], features)
    assert_near(layer(features)["logits"].numpy(), expected["logits"])


def test_texts_need_the_other_signatures(folder):
    with rejects(None, "takes IDs, not texts", "export it"):
        open_export(str(folder / "classifier"))


@pytest.mark.parametrize("name", REQUESTS)
def test_openvino_opens_a_saved_model_of_ids(folder, servables, features, name):
    runtime = pytest.importorskip("openvino")
    found = answer_with_openvino(
        runtime, runtime.Core().read_model(str(folder / name / "1")), features
    )
    expected = compute_expected(servables[name], features)
    assert_same_numbers(found, expected, features, METADATA[name].kind)


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
    expected = compute_expected(servables[name], features)
    assert_same_numbers(found, expected, features, METADATA[name].kind)


@pytest.mark.parametrize("name", REQUESTS)
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
    expected = compute_expected(servable, features, "compute_outputs")
    for name, output in zip(sorted(expected), compiled.outputs, strict=True):
        value = found[output]
        is_token = features["input_mask"] > 0
        if name in KINDS[servable.kind].per_position:
            assert_near(value[is_token], expected[name][is_token])
        else:
            assert_near(value, expected[name])


@pytest.fixture(scope="module")
def openvino_servables(toy_tokenizer):
    return {
        name: make_servable(name, toy_tokenizer, "openvino", remove_padding=False)
        for name in REQUESTS
    }


FORMATS = {  # Module, and the packages that it requires.
    "onnx": (onnx, ("tf2onnx", "onnxruntime")),
    "openvino": (openvino, ("openvino",)),
}


def write_file(name, servable, folder):
    """Writes a Servable to a file in a format of FORMATS, and returns its path."""
    module, packages = FORMATS[name]
    for package in packages:
        pytest.importorskip(package)
    path = str(folder / f"model{module.SUFFIX}")
    module.write(servable, path)
    return path


@pytest.mark.parametrize("kind", REQUESTS)
@pytest.mark.parametrize("name", FORMATS)
def test_a_file_answers_texts_as_the_servable(servables, openvino_servables, name, kind, tmp_path):
    """Also texts that are not UTF-8, and none, and texts of different lengths at once."""
    servable = servables[kind]
    if name == "openvino":
        assert_same_responses(
            respond(openvino_servables[kind], REQUESTS[kind]), respond(servable, REQUESTS[kind])
        )
        servable = openvino_servables[kind]
    model = open_export(write_file(name, servable, tmp_path))
    unusual = [b"the \xff\xfe dog \xe2\x82", b"", "the\u202fd\u00f3g\tand \u00c9".encode()]
    unusual = {
        key: [[text, b"it"] for text in unusual] if key == "choices" else unusual
        for key in REQUESTS[kind]
    }
    for request in (REQUESTS[kind], unusual):
        assert_same_responses(model(**request), respond(servable, request))
    assert all(value.shape[0] == 0 for value in model(**{key: [] for key in unusual}).values())
    assert (model.kind, model.inputs) == (servable.kind, tuple(servable.text_inputs))


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_requires_only_its_runtime(servables, name, tmp_path):
    path = write_file(name, servables["tagger"], tmp_path)
    others = ["tensorflow", "tensorflow_text", "tf_keras", "ai_edge_litert", "h5py", "absl"]
    if name == "openvino":
        others.append("flatbuffers")  # ONNX Runtime requires it.
    code = (
        f"import sys\nsys.modules.update(dict.fromkeys({others}))\nimport bert_tf\n"
        f"print(bert_tf.load({path!r}).predict(text=['the dog'])[0])\n"
    )
    done = scripts.run_python("-c", code)
    assert done.returncode == 0, done.stderr
    expected = open_export(path).predict(text=["the dog"])[0]
    assert done.stdout == f"{expected}\n"


def test_bfloat16_in_openvino(openvino_servables, tmp_path, monkeypatch):
    runtime = pytest.importorskip("openvino")
    hints = []
    compile_model = runtime.Core.compile_model

    def compile_and_record(core, model, device, options):
        hints.append(options["INFERENCE_PRECISION_HINT"])
        return compile_model(core, model, device, options)

    monkeypatch.setattr(runtime.Core, "compile_model", compile_and_record)
    outputs = {}
    for precision in ("float32", "bfloat16"):
        path = str(tmp_path / f"{precision}.xml")
        openvino.write(openvino_servables["classifier"], path, precision=precision)
        outputs[precision] = open_export(path)(**REQUESTS["classifier"])["probabilities"]
    assert hints == ["f32", "bf16"]
    np.testing.assert_allclose(outputs["bfloat16"], outputs["float32"], rtol=0, atol=0.05)


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
        "input_ids": generator.integers(5, 39, [ROWS, LENGTH], np.int32),
        "input_mask": np.ones([ROWS, LENGTH], np.int32),
        "segment_ids": np.zeros([ROWS, LENGTH], np.int32),
    }
    exact = core.compile_model(path, "CPU", EXACT | {"DYNAMIC_QUANTIZATION_GROUP_SIZE": 0})
    rounded = compute_expected(make_wide_servable(toy_tokenizer, round_weights=True), features)
    assert_near(exact(features)[0], rounded["logits"])
    differences = rounded["logits"] - compute_expected(servable, features)["logits"]
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


@pytest.mark.parametrize("kind", REQUESTS)
def test_all_kinds_in_int8(kind, toy_tokenizer, tmp_path, wide_models):
    """A second export replaces the first one."""
    pytest.importorskip("openvino")
    servable = make_servable(kind, toy_tokenizer, "openvino", remove_padding=False)
    path = str(tmp_path / "model.xml")
    openvino.write(servable, path)
    assert openvino.write(servable, path, weights="int8") is None
    assert_similar_responses(path, servable, REQUESTS[kind])


@pytest.mark.parametrize("kind", REQUESTS)
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


@pytest.mark.parametrize("name", FORMATS)
def test_threads_share_a_file(servables, name, tmp_path):
    model = open_export(write_file(name, servables["tagger"], tmp_path))
    texts = [TEXTS[:1], TEXTS[2:], TEXTS] * 5
    expected = [model(text=each)["scores"] for each in texts]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda each: model(text=each)["scores"], texts)
        for scores, others in zip(found, expected, strict=True):
            np.testing.assert_allclose(scores, others, atol=1e-6)


@pytest.mark.parametrize("name", FORMATS)
def test_other_files_and_missing_packages(name, tmp_path, monkeypatch):
    module, packages = FORMATS[name]
    path = tmp_path / f"model{module.SUFFIX}"
    with pytest.raises(InputError, match="does not exist"):
        open_export(str(path))
    path.write_text("no model")
    (tmp_path / "model.bin").write_bytes(b"")
    monkeypatch.setitem(sys.modules, packages[-1], None)
    with pytest.raises(InputError, match=rf"requires {packages[-1]}; run pip install 'bert-tf\["):
        open_export(str(path))
    monkeypatch.undo()
    for package in packages:
        pytest.importorskip(package)
    with pytest.raises(InputError, match=r"model\.\w+: is not an \w+ model, or is corrupted: "):
        open_export(str(path))


@pytest.mark.parametrize(
    "text", [None, "", "[]", "{}", json.dumps({"vocabulary": 3, "task.json": {}})]
)
def test_a_file_of_another_project_has_no_description(text):
    with rejects("m.onnx", "does not contain the tokenizer"):
        ModelDescription.from_json(text, "m.onnx")


def test_rows_of_similar_length_run_together():
    assert list_batches([]) == []
    assert list_batches([9, 3, 3, 40, 4]) == [[1, 2, 4], [0], [3]]
    assert list_batches([9, 3, 5]) == [[1, 2, 0]]
    assert list_batches([5] * 40) == [[*range(32)], [*range(32, 40)]]
