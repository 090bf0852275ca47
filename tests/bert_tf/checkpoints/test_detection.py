"""Which kind of checkpoint there is, and what is said where there is none that can be used."""

import os
import pathlib
import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.checkpoints import find_checkpoint, load_pretrained, object_graph, open_checkpoint, tf1
from bert_tf.errors import InputError


def test_a_folder_of_two_kinds(reference, tmp_path, tf1_checkpoint, reference_config):
    tf1.write(tmp_path, open_checkpoint(tf1_checkpoint).tensors, reference_config)
    shutil.copy(reference / "hf_tiny" / "model.safetensors", tmp_path)
    with pytest.raises(ValueError, match=r"holds bert_model\.ckpt and model\.safetensors: name one of them"):
        open_checkpoint(str(tmp_path))
    assert open_checkpoint(str(tmp_path / "bert_model.ckpt")).kind == "TF1 checkpoint"
    assert open_checkpoint(str(tmp_path / "model.safetensors")).kind == "Hugging Face model"
    os.rename(tmp_path / "model.safetensors", tmp_path / "pytorch_model.bin")  # never opened, so no second kind
    assert open_checkpoint(str(tmp_path)).kind == "TF1 checkpoint"


@pytest.mark.parametrize("as_path", [str, pathlib.Path, os.fsencode])
def test_paths_of_any_type(reference, as_path):
    assert find_checkpoint(as_path(str(reference / "pretrain_init.ckpt"))) == str(reference / "pretrain_init.ckpt")
    assert find_checkpoint(as_path(f"{reference}/pretrain_init.ckpt.index")) == str(reference / "pretrain_init.ckpt")
    opened = open_checkpoint(as_path(str(reference / "hf_tiny")))
    assert (opened.kind, opened.path) == ("Hugging Face model", str(reference / "hf_tiny" / "model.safetensors"))


def test_a_training_runs_checkpoint(training_checkpoint, tmp_path):
    path, _ = training_checkpoint
    opened = open_checkpoint(str(tmp_path / "run"))
    assert (opened.kind, opened.path, opened.config) == ("training checkpoint", path, None)


@pytest.mark.parametrize(("path", "message"), [
    ("none.safetensors", r"^none\.safetensors: no such file$"),
    ("none://a/b", r"^none://a/b: cannot be read: File system scheme 'none' not implemented"),
    ("none://a/b.safetensors", r"^none://a/b\.safetensors: cannot be read: File system scheme 'none'"),
])
def test_a_path_that_leads_nowhere(path, message):
    with pytest.raises(InputError, match=message):
        open_checkpoint(path)


def write_tensors(prefix, **tensors):
    names = sorted(tensors)
    tf.raw_ops.SaveV2(prefix=str(prefix), tensor_names=names, shape_and_slices=[""] * len(names),
                      tensors=[tensors[name] for name in names])
    return str(prefix)


def test_another_models_checkpoint(tmp_path):
    path = tf.train.Checkpoint(weights=tf.Variable([1.0], name="theirs")).save(str(tmp_path / "ckpt"))
    with pytest.raises(InputError, match=r"ckpt-1: the checkpoint holds no BERT of this project nor of .* is "):
        open_checkpoint(path)


@pytest.mark.parametrize("graph", [tf.constant(b"\xff\xff no message"), tf.constant([1.5, 2.5])])
def test_a_damaged_graph_of_objects(tmp_path, graph):
    path = write_tensors(tmp_path / "ckpt", **{object_graph.OBJECT_GRAPH: graph})
    with pytest.raises(InputError, match=rf"/ckpt: the checkpoint cannot be read: its {object_graph.OBJECT_GRAPH} is"):
        open_checkpoint(path)


def test_tensors_that_the_graph_of_objects_names_and_the_file_lacks(training_checkpoint, tmp_path):
    reader = tf.train.load_checkpoint(training_checkpoint[0])
    path = write_tensors(tmp_path / "cut", **{object_graph.OBJECT_GRAPH: reader.get_tensor(object_graph.OBJECT_GRAPH)})
    with pytest.raises(InputError, match=r"/cut: the checkpoint cannot be read: it names model/.*, which it does not"):
        open_checkpoint(path)


@pytest.mark.parametrize(("name", "value", "message"), [
    ("cls/predictions/output_bias", np.array(b"text"), "output_bias holds text in the checkpoint, where a model has"),
    ("cls/predictions/output_bias", np.float32(0), "output_bias is a scalar in the checkpoint, which no variable of a"),
    ("bert/pooler/dense/kernel", np.float32(0), "bert/pooler/dense/kernel is a scalar"),
    ("bert/encoder/layer_1/attention/self/key/bias", np.float32(0), "self/key/bias is a scalar"),
])
def test_tensors_that_are_no_weights(reference, reference_config, tmp_path, name, value, message):
    reader = tf.train.load_checkpoint(str(reference / "pretrain_init.ckpt"))
    tensors = {each: reader.get_tensor(each) for each in reader.get_variable_to_shape_map()} | {name: value}
    path = write_tensors(tmp_path / "ckpt", **tensors)
    for extend_vocabulary in (False, True):
        with pytest.raises(InputError, match=rf"^{path}: {'' if name.startswith('bert/p') else '.*'}{message}"):
            load_pretrained(models.BertPretrainer(reference_config), path, extend_vocabulary=extend_vocabulary)
