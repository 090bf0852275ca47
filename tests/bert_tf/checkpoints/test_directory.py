"""Directories of the files of a model, weights that are pickles, and variables of SavedModels."""

import pytest
from tensorflow.core.protobuf import saved_model_pb2

from bert_tf.checkpoints import ModelDirectory, read_config
from bert_tf.checkpoints.huggingface import HUGGING_FACE
from bert_tf.checkpoints.saved_models import read_variables
from bert_tf.errors import InputError
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
        (
            ("model.safetensors", "checkpoint"),
            "model.safetensors",
        ),  # a file that was left behind
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
    ("name", "message"),
    [
        (
            "tf_model.h5",
            "convert it to .* with transformers 4.46 and PyTorch: "
            "AutoModelForPreTraining.*, from_tf=True",
        ),
        (
            "model.weights.h5",
            r"load it into its model of bert_tf, and save that with model\.save_pretrained",
        ),
    ],
)
def test_files_of_keras(tmp_path, name, message):
    (tmp_path / name).touch()
    for path in (
        (str(tmp_path), f"{tmp_path}/{name}") if name == "tf_model.h5" else (f"{tmp_path}/{name}",)
    ):
        with pytest.raises(
            InputError, match=rf"^{tmp_path}/{name}: is a file of Keras, which is .*; {message}"
        ):
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


def test_an_export_is_no_checkpoint(tmp_path):
    put(f"{tmp_path}/export/2/saved_model.pb", "x")
    with pytest.raises(
        InputError, match=r"export: is an export, for run\.predict and bert_tf\.load; set its"
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
        read_config(str(path))  # As for the ALBERT of TF Hub.
    path.write_bytes(b"\xff" * 100)
    assert read_variables(str(path)) == {}
