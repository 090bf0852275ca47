"""The library's conversion from format to format; run.convert_checkpoint's tests go through all of them."""

import os
import resource
import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.checkpoints import FORMATS, convert, open_checkpoint
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.model_folder import Task


@pytest.fixture
def vocabulary(tmp_path):
    """A vocabulary of the 120 entries that the reference model has."""
    path = tmp_path / "entries.txt"
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"piece{number}" for number in range(115))]
    path.write_text("\n".join(pieces) + "\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("output_format", FORMATS)
def test_every_tensor_keeps_its_bytes(reference, reference_config, vocabulary, tmp_path, output_format):
    source, output = str(reference / "pretrain_init.ckpt"), str(tmp_path / "out")
    summary, *notes = convert(source, output, output_format, reference_config, vocabulary)
    assert summary.startswith(f"{source} (TF1 checkpoint) -> {output} ({FORMATS[output_format].KIND}): 46 tensors")
    assert notes == []
    written, expected = open_checkpoint(output), open_checkpoint(source)
    assert written.kind == FORMATS[output_format].KIND
    assert written.config == reference_config
    assert set(written.tensors) == set(expected.tensors)
    for name, tensor in expected.tensors.items():
        np.testing.assert_array_equal(written.tensors[name].read(), tensor.read(), strict=True, err_msg=name)
    with open(vocabulary, "rb") as given, open(os.path.join(output, "vocab.txt"), "rb") as copied:
        assert given.read() == copied.read()
    assert not [name for name in os.listdir(output) if name.startswith(".")]


@pytest.mark.parametrize("output_format", FORMATS)
def test_into_a_remote_folder_and_out_of_it(reference, reference_config, vocabulary, tmp_path, output_format):
    source, output = str(reference / "pretrain_init.ckpt"), f"ram://converted-{output_format}"
    convert(source, output, output_format, reference_config, vocabulary)
    assert not [name for name in tf.io.gfile.listdir(output) if name.startswith(".") or name.endswith(".partial")]
    convert(output, str(tmp_path / "out"), "tf1")
    written, expected = open_checkpoint(str(tmp_path / "out")), open_checkpoint(source)
    for name, tensor in expected.tensors.items():
        np.testing.assert_array_equal(written.tensors[name].read(), tensor.read(), strict=True, err_msg=name)


def test_a_remote_vocabulary(reference, reference_config, vocabulary, tmp_path):
    tf.io.gfile.makedirs("ram://vocabulary")
    tf.io.gfile.copy(vocabulary, "ram://vocabulary/vocab.txt", overwrite=True)
    convert(str(reference / "pretrain_init.ckpt"), str(tmp_path / "out"), "tf1", reference_config,
            "ram://vocabulary/vocab.txt")
    with open(vocabulary, "rb") as given:
        assert (tmp_path / "out" / "vocab.txt").read_bytes() == given.read()


def test_the_config_beside_a_checkpoint_is_taken(reference, tmp_path):
    (tmp_path / "in").mkdir()
    for path in reference.glob("pretrain_init.ckpt.*"):
        shutil.copy(path, tmp_path / "in" / path.name.replace("pretrain_init", "bert_model"))
    with pytest.raises(InputError, match=r"^`bert_config_file` is required: there is no config beside .*bert_model"):
        convert(str(tmp_path / "in"), str(tmp_path / "out"), "huggingface")
    shutil.copy(reference / "bert_config.json", tmp_path / "in")
    convert(str(tmp_path / "in"), str(tmp_path / "out"), "model_garden")
    assert BertConfig.from_json_file(tmp_path / "out" / "bert_config.json") == BertConfig.from_json_file(
        reference / "bert_config.json")


def test_a_full_disk_is_an_error_that_names_the_file(reference, reference_config, tmp_path):
    """A limit of the size of files, which safetensors reports as an exception of its own, as it does a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 13, limits[1]))
    try:
        with pytest.raises(OSError, match=f"^{tmp_path}/out/model.safetensors: cannot be written: .*File too large"):
            convert(str(reference / "pretrain_init.ckpt"), str(tmp_path / "out"), "huggingface", reference_config)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("output", "output_format", "message"), [
    ("out", "onnx", "^`format`=onnx: it must be one of tf1, model_garden, huggingface$"),
])
def test_what_cannot_be_written(reference, reference_config, tmp_path, monkeypatch, output, output_format, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        convert(str(reference / "pretrain_init.ckpt"), output, output_format, reference_config)
    assert not os.listdir(tmp_path)


def test_a_task_of_another_model(reference, reference_config, tmp_path):
    source = str(reference / "classify_init.ckpt")
    task = Task("classifier", tuple("abcdefghi"))
    with pytest.raises(InputError, match=r"/classify_init\.ckpt: the task has 9 labels, and the model has \d outputs"):
        convert(source, str(tmp_path / "out"), "huggingface", reference_config, task=task)
    assert not (tmp_path / "out").exists()
