"""Exports for ONNX Runtime and OpenVINO."""

import concurrent.futures
import json
import sys

import numpy as np
import pytest

from bert_tf.errors import InputError
from bert_tf.serving import onnx, openvino
from bert_tf.serving.description import ModelDescription
from bert_tf.serving.loading import open_export
from bert_tf.serving.plain_model import list_batches
from tests import scripts
from tests.errors import rejects
from tests.toy_servables import (
    REQUESTS,
    TEXTS,
    assert_answers_as,
    assert_same_responses,
    make_servable,
    respond,
)
from tests.variants import mark_variants

pytestmark = [pytest.mark.large, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def servables(toy_tokenizer):
    return {name: make_servable(name, toy_tokenizer, remove_padding=False) for name in REQUESTS}


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


@pytest.mark.parametrize("kind", mark_variants(REQUESTS, "classifier", "squad"))
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
    assert_answers_as(model, servable, REQUESTS[kind])


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
