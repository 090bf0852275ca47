"""Directories of the files of a model, and weights that are pickles."""

import pytest

from bert_tf.errors import InputError
from bert_tf.model_folder import check_loadable, find_file, list_directories, weights_in
from bert_tf.model_folder.weights import is_hugging_face
from tests.remote_folders import new_folder, put


def test_directories_of_a_checkpoint(tmp_path, monkeypatch):
    run, best = str(tmp_path), str(tmp_path / "best")
    (tmp_path / "best").mkdir()
    assert list_directories(run) == [run]
    assert list_directories(f"{run}/") == [run]
    assert list_directories(f"{run}/ckpt-7") == [run]
    assert list_directories(f"{best}/ckpt-7") == [best, run]
    assert list_directories(best) == [best, run]
    monkeypatch.chdir(best)
    assert list_directories("ckpt-7") == [".", run]
    monkeypatch.chdir(run)
    assert list_directories("ckpt-7") == ["."]


def test_links_to_and_from_best_weights(tmp_path):
    run, weights = tmp_path / "run", tmp_path / "weights"
    (run / "best").mkdir(parents=True)
    weights.mkdir()
    (tmp_path / "latest").symlink_to(run / "best")
    assert list_directories(tmp_path / "latest") == [f"{tmp_path}/latest", str(run)]
    (run / "best").rmdir()
    (run / "best").symlink_to(weights)
    assert list_directories(run / "best") == [f"{run}/best", str(run)]
    assert list_directories(weights) == [str(weights)]


def test_directories_of_a_remote_checkpoint():
    run = new_folder()
    put(f"{run}/vocab.txt", "a")
    assert list_directories(f"{run}/best/ckpt-7") == [f"{run}/best", run]
    assert find_file(f"{run}/best/ckpt-7", "task.json", "vocab.txt") == f"{run}/vocab.txt"
    assert find_file(f"{run}/best/ckpt-7", "task.json") is None


@pytest.mark.parametrize(("names", "weights", "is_theirs"), [
    (("model.safetensors", "pytorch_model.bin"), "model.safetensors", True),
    (("model.safetensors.index.json", "model-00001-of-00002.safetensors"), "model.safetensors.index.json", True),
    (("model.safetensors", "checkpoint", "ckpt-3.index"), "model.safetensors", False),
    (("model.safetensors", "checkpoint"), "model.safetensors", True),  # a file that was left behind
    (("pytorch_model.bin", "bert_model.ckpt.index"), "pytorch_model.bin", False),
    (("tf_model.h5",), "tf_model.h5", True),
    (("bert_model.ckpt.index",), None, False),
])
def test_weights_in_a_directory(tmp_path, names, weights, is_theirs):
    for name in names:
        (tmp_path / name).write_text('model_checkpoint_path: "ckpt-3"' if name == "checkpoint" else "")
    assert weights_in(str(tmp_path)) == (weights and f"{tmp_path}/{weights}")
    assert is_hugging_face(str(tmp_path)) == is_theirs


@pytest.mark.parametrize(("name", "message"), [
    ("tf_model.h5", "convert it to .* with transformers 4.46 and PyTorch: AutoModelForPreTraining.*, from_tf=True"),
    ("model.weights.h5", r"load it into its model, and save that with tf\.train\.Checkpoint\(model=model\)\.write"),
])
def test_files_of_keras(tmp_path, name, message):
    (tmp_path / name).touch()
    for path in (str(tmp_path), f"{tmp_path}/{name}") if name == "tf_model.h5" else (f"{tmp_path}/{name}",):
        with pytest.raises(InputError, match=rf"^{tmp_path}/{name}: is a file of Keras, which is .*; {message}"):
            check_loadable(path)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "pytorch_model.bin.index.json"])
def test_a_pickle_is_rejected_with_instructions_for_conversion(tmp_path, name):
    (tmp_path / name).touch()
    for path in (str(tmp_path), f"{tmp_path}/{name}"):
        with pytest.raises(InputError, match=rf"{name}: is a pickle, .* with transformers: AutoModelForPreTraining"):
            check_loadable(path)
    (tmp_path / "config.json").write_text('{"architectures": ["BertForQuestionAnswering"]}')
    with pytest.raises(InputError, match=r"transformers: BertForQuestionAnswering\.from_pretrained\(OLD_DIR\)"):
        check_loadable(str(tmp_path))
    (tmp_path / "model.safetensors").touch()
    check_loadable(str(tmp_path))
