"""Detection of the format of a checkpoint, and errors if there is none that can be read."""

import os
import pathlib
import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.checkpoints import find_checkpoint, load_pretrained, open_checkpoint, tf1
from bert_tf.checkpoints.tensorflow_file import OBJECT_GRAPH
from bert_tf.errors import InputError


def test_a_directory_with_two_formats(reference, tmp_path, tf1_checkpoint, reference_config):
    tf1.write(tmp_path, open_checkpoint(tf1_checkpoint).tensors, reference_config)
    shutil.copy(reference / "hf_tiny" / "model.safetensors", tmp_path)
    with pytest.raises(InputError, match=r"contains bert_model\.ckpt and model\.safetensors; set one of them"):
        open_checkpoint(str(tmp_path))
    assert open_checkpoint(str(tmp_path / "bert_model.ckpt")).kind == "TF1 checkpoint"
    assert open_checkpoint(str(tmp_path / "model.safetensors")).kind == "Hugging Face model"
    os.rename(tmp_path / "model.safetensors", tmp_path / "pytorch_model.bin")  # never opened, so it is ignored
    assert open_checkpoint(str(tmp_path)).kind == "TF1 checkpoint"


@pytest.mark.parametrize("to_path", [str, pathlib.Path, os.fsencode])
def test_paths_of_any_type(reference, tf1_checkpoint, to_path):
    assert find_checkpoint(to_path(tf1_checkpoint)) == tf1_checkpoint
    assert find_checkpoint(to_path(f"{tf1_checkpoint}.index")) == tf1_checkpoint
    checkpoint = open_checkpoint(to_path(str(reference / "hf_tiny")))
    assert (checkpoint.kind, checkpoint.path) == (
        "Hugging Face model", str(reference / "hf_tiny" / "model.safetensors"))


@pytest.mark.parametrize("ending", [".index", ".meta", ".data-00000-of-00001"])
def test_files_of_a_checkpoint(tf1_checkpoint, ending):
    assert find_checkpoint(f"{tf1_checkpoint}{ending}") == tf1_checkpoint


@pytest.mark.parametrize("state", [None, "", "model.ckpt-900000", "/elsewhere/model.ckpt-1000000"])
def test_a_directory_of_the_original(tf1_checkpoint, tmp_path, state, capfd):
    for ending in (".index", ".data-00000-of-00001"):
        shutil.copy(f"{tf1_checkpoint}{ending}", tmp_path / f"model.ckpt-1000000{ending}")
    if state is not None:
        (tmp_path / "checkpoint").write_text(f'model_checkpoint_path: "{state}"\n')
    if state == "":
        with pytest.raises(InputError, match=rf"^{tmp_path}/checkpoint: is corrupted; delete the file"):
            open_checkpoint(str(tmp_path))
        return
    checkpoint = open_checkpoint(str(tmp_path))
    assert (checkpoint.kind, checkpoint.path) == ("TF1 checkpoint", f"{tmp_path}/model.ckpt-1000000")
    assert capfd.readouterr().err == ""


def test_a_file_checkpoint_that_was_left_behind(reference, tmp_path):
    shutil.copy(reference / "hf_tiny" / "model.safetensors", tmp_path)
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "ckpt-3"\n')
    assert open_checkpoint(str(tmp_path)).kind == "Hugging Face model"


def test_the_latest_checkpoint_of_a_training_run(training_checkpoint):
    path, _ = training_checkpoint
    checkpoint = open_checkpoint(os.path.dirname(path))
    assert (checkpoint.kind, checkpoint.path, checkpoint.config) == ("training checkpoint", path, None)


@pytest.mark.parametrize(("path", "message"), [
    ("{}/nothing", r"^{}/nothing: no checkpoint found; {}/nothing\.index does not exist$"),
    ("{}", r"^{}: no checkpoint found; {}/bert_model\.ckpt\.index does not exist$"),
    ("none.safetensors", r"^none\.safetensors: does not exist$"),
    ("none://a/b", r"^none://a/b: cannot be read: File system scheme 'none' not implemented"),
    ("none://a/b.safetensors", r"^none://a/b\.safetensors: cannot be read: File system scheme 'none'"),
])
def test_missing_checkpoints(tmp_path, path, message):
    with pytest.raises(InputError, match=message.replace("{}", str(tmp_path))):
        open_checkpoint(path.replace("{}", str(tmp_path)))


def write_tensors(prefix, **tensors):
    names = sorted(tensors)
    tf.raw_ops.SaveV2(prefix=str(prefix), tensor_names=names, shape_and_slices=[""] * len(names),
                      tensors=[tensors[name] for name in names])
    return str(prefix)


@pytest.mark.parametrize("name", ["tf_model.h5", "model.weights.h5"])
def test_a_file_of_keras(reference_config, tmp_path, name):
    models.BertPretrainer(reference_config).save_weights(str(tmp_path / name))
    for path in (tmp_path, tmp_path / name) if name == "tf_model.h5" else (tmp_path / name,):
        with pytest.raises(InputError, match=rf"^{tmp_path}/{name}: is a file of Keras"):
            open_checkpoint(path)


def test_weights_that_keras_saved_in_the_format_of_tensorflow(reference_config, tmp_path):
    models.BertPretrainer(reference_config).save_weights(str(tmp_path / "weights"))
    for path in (tmp_path, tmp_path / "weights"):
        with pytest.raises(InputError, match=rf"^{tmp_path}/weights: was not written by these scripts .*; load it "
                                             r"into the model, .* tf\.train\.Checkpoint\(model=model\)\.write"):
            open_checkpoint(path)


def test_layer_normalizations_with_names_of_keras(tf1_checkpoint, tmp_path):
    reader = tf.train.load_checkpoint(tf1_checkpoint)
    tensors = {name.replace("LayerNorm", "layer_normalization_1" if "layer_0" in name else "layer_normalization"):
               reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}
    path = write_tensors(tmp_path / "ckpt", **tensors)
    with pytest.raises(InputError, match=rf"^{path}: contains bert/embeddings/layer_normalization/beta, .*; rename "
                                         "layer_normalization to LayerNorm in all of these names, without a number$"):
        open_checkpoint(path)


def test_a_checkpoint_of_another_model(tmp_path):
    path = tf.train.Checkpoint(weights=tf.Variable([1.0])).save(str(tmp_path / "ckpt"))
    with pytest.raises(InputError, match=r"ckpt-1: the checkpoint does not contain a BERT of .*; its first "):
        open_checkpoint(path)


@pytest.mark.parametrize("graph", [tf.constant(b"\xff\xff no message"), tf.constant([1.5, 2.5])])
def test_a_corrupted_object_graph(tmp_path, graph):
    path = write_tensors(tmp_path / "ckpt", **{OBJECT_GRAPH: graph})
    with pytest.raises(InputError, match=rf"/ckpt: the checkpoint cannot be read: its {OBJECT_GRAPH} is"):
        open_checkpoint(path)


def test_tensors_of_the_object_graph_that_do_not_exist(training_checkpoint, tmp_path):
    reader = tf.train.load_checkpoint(training_checkpoint[0])
    path = write_tensors(tmp_path / "cut", **{OBJECT_GRAPH: reader.get_tensor(OBJECT_GRAPH)})
    with pytest.raises(InputError, match=r"/cut: the checkpoint cannot be read: it lists model/.*, but does not"):
        open_checkpoint(path)


@pytest.mark.parametrize(("name", "value", "message"), [
    ("cls/predictions/output_bias", np.array(b"text"), "output_bias contains text in the checkpoint; a model requires"),
    ("cls/predictions/output_bias", np.float32(0), "output_bias is a scalar in the checkpoint, but models have no"),
    ("bert/pooler/dense/kernel", np.float32(0), "bert/pooler/dense/kernel is a scalar"),
    ("bert/encoder/layer_1/attention/self/key/bias", np.float32(0), "self/key/bias is a scalar"),
    ("bert/pooler/dense/bias", np.zeros(32, np.int8), "bert/pooler/dense/bias has type int8, but weights must be"),
    ("bert/pooler/dense/bias", np.full(32, np.inf, np.float32), "bert/pooler/dense/bias contains numbers that are not"),
])
def test_tensors_that_cannot_be_weights(tf1_checkpoint, reference_config, tmp_path, name, value, message):
    reader = tf.train.load_checkpoint(tf1_checkpoint)
    tensors = {each: reader.get_tensor(each) for each in reader.get_variable_to_shape_map()} | {name: value}
    path = write_tensors(tmp_path / "ckpt", **tensors)
    with pytest.raises(InputError, match=rf"^{path}: .*{message}"):
        load_pretrained(models.BertPretrainer(reference_config), path)
