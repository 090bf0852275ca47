"""Directories of the files of a model, weights that are pickles, and variables of SavedModels."""

import builtins
import collections
import io
import os
import shutil
import types

import numpy as np
import pytest
import safetensors
from tensorflow.core.protobuf import saved_model_pb2

import bert_tf
from bert_tf.checkpoints import (
    ModelDirectory,
    convert,
    directory,
    huggingface,
    load_pretrained,
    open_checkpoint,
    read_config_file,
)
from bert_tf.checkpoints.huggingface import HUGGING_FACE
from bert_tf.checkpoints.saved_models import read_variables
from bert_tf.errors import InputError
from tests import pages
from tests.errors import rejects
from tests.remote_folders import new_folder, put

WORDS = "word_embeddings/embeddings"


def list_folders(path):
    """Returns the paths of the directories with the files of a model."""
    return [folder.path for folder in ModelDirectory.open(path).folders]


def test_directories_of_a_checkpoint(tmp_path, monkeypatch):
    run = str(tmp_path)
    best = str(tmp_path / "best")
    (tmp_path / "best").mkdir()
    assert list_folders(run) == [run]
    assert list_folders(f"{run}/") == [run]
    assert list_folders(f"{run}/ckpt-7") == [run]
    assert list_folders(f"{best}/ckpt-7") == [best, run]
    assert list_folders(best) == [best, run]
    monkeypatch.chdir(best)
    assert list_folders("ckpt-7") == [".", run]
    monkeypatch.chdir(run)
    assert list_folders("ckpt-7") == ["."]


def test_directories_of_a_remote_checkpoint():
    run = new_folder()
    put(f"{run}/vocab.txt", "a")
    directory = ModelDirectory.open(f"{run}/best/ckpt-7")
    assert [folder.path for folder in directory.folders] == [f"{run}/best", run]
    assert directory.find("task.json", "vocab.txt") == f"{run}/vocab.txt"
    assert directory.find("task.json") is None


@pytest.mark.parametrize(
    ("names", "weights"),
    [
        (("model.safetensors", "pytorch_model.bin"), "model.safetensors"),
        (
            ("model.safetensors.index.json", "model-00001-of-00002.safetensors"),
            "model.safetensors.index.json",
        ),
        (("model.safetensors", "checkpoint", "ckpt-3.index"), "ckpt-3"),
        # A file that was left behind.
        (
            ("model.safetensors", "checkpoint"),
            "model.safetensors",
        ),
        (("pytorch_model.bin", "bert_model.ckpt.index"), "bert_model.ckpt"),
        (("tf_model.h5",), "tf_model.h5"),
        (("bert_model.ckpt.index",), "bert_model.ckpt"),
    ],
)
def test_weights_in_a_directory(tmp_path, names, weights):
    for name in names:
        (tmp_path / name).write_text(
            'model_checkpoint_path: "ckpt-3"' if name == "checkpoint" else ""
        )
    directory = ModelDirectory.open(tmp_path)
    origin = directory.weights_origin
    assert origin.find_weights(directory) == f"{tmp_path}/{weights}"
    assert (origin is HUGGING_FACE) == ("ckpt" not in weights)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        (
            "tf_model.h5",
            ("transformers 4.46 and PyTorch", "AutoModelForPreTraining", "from_tf=True"),
        ),
        (
            "model.weights.h5",
            ("load it into its model", "model.save_pretrained"),
        ),
    ],
)
def test_files_of_keras(tmp_path, name, advice):
    (tmp_path / name).touch()
    for path in (
        (str(tmp_path), f"{tmp_path}/{name}") if name == "tf_model.h5" else (f"{tmp_path}/{name}",)
    ):
        with rejects(f"{tmp_path}/{name}", "is a file of Keras", *advice):
            ModelDirectory.open(path).check_loadable()


@pytest.mark.parametrize("name", ["pytorch_model.bin", "pytorch_model.bin.index.json"])
def test_a_pickle_is_rejected_with_instructions_for_conversion(tmp_path, name):
    (tmp_path / name).touch()
    for path in (str(tmp_path), f"{tmp_path}/{name}"):
        with pytest.raises(
            InputError, match=rf"{name}: is a pickle, .* with transformers: AutoModelForPreTraining"
        ):
            ModelDirectory.open(path).check_loadable()
    (tmp_path / "config.json").write_text('{"architectures": ["BertForQuestionAnswering"]}')
    with pytest.raises(
        InputError, match=r"transformers: BertForQuestionAnswering\.from_pretrained\(OLD_DIR\)"
    ):
        ModelDirectory.open(str(tmp_path)).check_loadable()
    (tmp_path / "model.safetensors").touch()
    ModelDirectory.open(str(tmp_path)).check_loadable()


@pytest.mark.parametrize("name", ["a", "a.onnx", "a.tflite", "a.safetensors"])
def test_what_is_no_model(tmp_path, name):
    """The name of a file of a model does not make a directory one."""
    (tmp_path / name).mkdir()
    advice = "set the directory of a model"
    with rejects(
        name,
        "is a directory without weights",
        "or config",
        advice,
        end=", or a checkpoint's prefix",
    ):
        ModelDirectory.open(str(tmp_path / name)).check_loadable()
    (tmp_path / "b.txt").write_text("text")
    with rejects("b.txt", "is not a checkpoint", advice, end=", or a checkpoint's prefix"):
        ModelDirectory.open(str(tmp_path / "b.txt")).check_loadable()


def test_an_export_is_no_checkpoint(tmp_path):
    put(f"{tmp_path}/export/2/saved_model.pb", "x")
    with rejects(
        "export", "is an export", "run.predict and bert_tf.load", end="set its checkpoint"
    ):
        ModelDirectory.open(f"{tmp_path}/export").check_loadable()
    put(f"{tmp_path}/export/ckpt-3.index", "x")  # A run can be exported to its own directory.
    put(f"{tmp_path}/export/checkpoint", 'model_checkpoint_path: "ckpt-3"')
    ModelDirectory.open(f"{tmp_path}/export").check_loadable()


def test_variables_of_a_saved_model(tmp_path):
    saved_model = saved_model_pb2.SavedModel()
    variable = saved_model.meta_graphs.add().object_graph_def.nodes.add().variable
    variable.name = WORDS
    for size in (30522, 8):
        variable.shape.dim.add(size=size)
    path = tmp_path / "saved_model.pb"
    path.write_bytes(saved_model.SerializeToString())
    assert read_variables(str(path)) == {WORDS: [30522, 8]}
    assert ModelDirectory.open(tmp_path).is_garden_encoder
    with pytest.raises(InputError, match=f"^{path}: only SavedModels of BERT encoders"):
        read_config_file(str(path))  # As for the ALBERT of TF Hub.
    path.write_bytes(b"\xff" * 100)
    assert read_variables(str(path)) == {}


@pytest.fixture
def calls(monkeypatch):
    """The calls of the file system: Counter of (function, path)."""
    found = collections.Counter()

    def count(module, name):
        function = getattr(module, name)

        def call(*args, **kwargs):
            found[name, str(args[0]) if args else ""] += 1
            return function(*args, **kwargs)

        monkeypatch.setattr(module, name, call)

    for name in ("stat", "lstat", "listdir", "scandir"):
        count(os, name)
    for module, name in ((builtins, "open"), (io, "open"), (safetensors, "safe_open")):
        count(module, name)
    count(huggingface, "check_model_type")
    return found


@pytest.mark.large
@pytest.mark.parametrize("reads", ["load", "from_pretrained"])
def test_a_directory_is_listed_once_and_each_file_is_read_once(reference, tmp_path, calls, reads):
    folder = str(tmp_path / "model")
    shutil.copytree(reference / "hf_tasks" / "classifier", folder)
    calls.clear()
    if reads == "load":
        bert_tf.load(folder)
    else:
        bert_tf.BertClassifier.from_pretrained(folder)
    queries = [name for name, path in calls.elements() if path.startswith(folder)]
    assert sum(name in ("stat", "lstat", "listdir", "scandir") for name in queries) <= 2
    opened = [
        os.path.basename(path)
        for name, path in calls.elements()
        if "open" in name and path.startswith(folder)
    ]
    assert sorted(opened) == sorted(set(opened))
    assert {"config.json", "model.safetensors"} <= set(opened)
    assert sum(name == "check_model_type" for name, _ in calls.elements()) == 1


def test_the_origin_of_contributing(monkeypatch, reference, tmp_path, reference_config):
    page = (pages.ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    lines = next(
        lines
        for language, lines in pages.code_blocks(page)
        if language == "diff" and lines[0].endswith("numpy_archive.py")
    )
    new, changed = pages.apply_diff(lines).values()
    module = types.ModuleType("numpy_archive")
    exec(new, vars(module))
    names = [origin.lower() for origin in changed.partition("ORIGINS = (")[2].split(")")[0].split()]
    assert names.index("numpy_archive,") == names.index("model_garden,") + 1
    monkeypatch.setattr(
        directory, "ORIGINS", (*directory.ORIGINS[:-1], module.NUMPY_ARCHIVE, directory.ORIGINS[-1])
    )
    expected = open_checkpoint(reference / "pretrain_init.ckpt").tensors
    np.savez(tmp_path / "bert.npz", **{name: tensor.read() for name, tensor in expected.items()})
    (tmp_path / "bert_config.json").write_text(reference_config.to_json())
    opened = ModelDirectory.open(tmp_path)
    assert opened.config == reference_config
    assert opened.checkpoint.format == "NumPy archive"
    model = bert_tf.BertEncoder(opened.config)
    assert load_pretrained(model, tmp_path).missing == ()
    convert(tmp_path, tmp_path / "tf1", "tf1")
    converted = open_checkpoint(tmp_path / "tf1").tensors
    assert converted.keys() == expected.keys()
    for name, tensor in expected.items():
        np.testing.assert_array_equal(converted[name].read(), tensor.read())


@pytest.mark.parametrize(
    ("path", "advice"),
    [
        (
            "google/bert-mini",
            ("hf download google/bert-mini", "--local-dir bert-m"),
        ),
        ("bert-base-cased", ("hf download google-bert/bert-base-cased", "--local-dir bert-b")),
        ("runs/mprc", ("did you mean runs/mrpc?",)),
        ("runs/mrpc/ckpt-20", ("did you mean runs/mrpc/ckpt-200?",)),
        ("runs/other", ("check the path",)),
        ("/nowhere/mrpc", ("check the path",)),
    ],
)
def test_advice_for_a_path_that_does_not_exist(tmp_path, monkeypatch, path, advice):
    (tmp_path / "runs" / "mrpc").mkdir(parents=True)
    (tmp_path / "runs" / "mrpc" / "ckpt-200.index").touch()
    monkeypatch.chdir(tmp_path)
    with rejects("init_checkpoint", "does not exist", *advice, value=path):
        ModelDirectory.open(path).check_exists("init_checkpoint")
