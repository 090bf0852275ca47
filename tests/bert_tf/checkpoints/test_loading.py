"""Checkpoints: detection of their format, loading into models, and errors."""

import dataclasses
import os
import pathlib
import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.checkpoints import ModelDirectory, load_pretrained, open_checkpoint, original
from bert_tf.checkpoints.tensorflow_file import OBJECT_GRAPH, TensorFlowFile
from bert_tf.errors import InputError
from bert_tf.serving.saved_model import load_saved_model
from tests.bert_tf.checkpoints.conftest import write_tensors
from tests.errors import Message, raises_message, rejects


def assert_load_fails(model, path, message, **options):
    """Asserts that loading raises an InputError with a message and changes no variable."""
    before = [variable.numpy() for variable in model.variables]
    with raises_message(message):
        load_pretrained(model, path, **options)
    for value, variable in zip(before, model.variables, strict=True):
        np.testing.assert_array_equal(value, variable)


def test_a_new_head_is_missing_and_the_old_one_unused(tf1_checkpoint, reference_config):
    model = models.BertClassifier(reference_config, 3)
    report = load_pretrained(model, tf1_checkpoint)
    assert report.missing == ("output_weights", "output_bias")
    assert "cls/predictions/output_bias" in report.unused
    assert all(name.startswith("cls/") for name in report.unused)
    # The pooler is pre-trained; several ports initialize it again.
    assert {"bert/pooler/dense/kernel", "bert/pooler/dense/bias"} <= set(report.loaded)


def test_variables_that_are_excluded_keep_their_values(reference, reference_config):
    path = str(reference / "classify_final.ckpt")
    model = models.BertClassifier(reference_config, 7)
    assert_load_fails(
        model,
        path,
        Message("classify_final.ckpt", "output_weights has shape [", "and [7, 32]"),
    )
    before = [variable.numpy() for variable in model.head.variables]
    report = load_pretrained(
        model, path, leave=("output_weights", "output_bias", "none_of_the_model")
    )
    assert report.missing == ()
    assert report.unused == ("output_bias", "output_weights")
    assert "; in the checkpoint, not used: output_bias, output_weights" in str(report)
    for variable, value in zip(model.head.variables, before, strict=True):
        np.testing.assert_array_equal(variable, value)


def test_the_latest_weights_of_a_training_run_without_optimizer_state(
    training_checkpoint, reference_config
):
    path, trained = training_checkpoint
    checkpoint = open_checkpoint(os.path.dirname(path))
    assert (checkpoint.format, checkpoint.path) == ("training checkpoint", path)
    model = models.BertClassifier(reference_config, 3)
    report = load_pretrained(model, os.path.dirname(path))
    assert all(name.startswith("cls/") for name in report.unused)
    for ours, theirs in zip(model.encoder.variables, trained.encoder.variables, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"vocab_size": 123},
            Message(
                "pretrain_init.ckpt",
                "bert/embeddings/word_embeddings has shape [120, 32]",
                "checkpoint and [123, 32]",
                "use the checkpoint's config",
            ),
        ),
        (
            {"num_hidden_layers": 3},
            Message(
                "pretrain_init.ckpt",
                "lacks bert/encoder/layer_2/attention/self/qkv/kernel and 11 more encoder",
            ),
        ),
    ],
)
def test_models_of_other_sizes(tf1_checkpoint, reference_config, change, message):
    assert_load_fails(
        models.BertEncoder(dataclasses.replace(reference_config, **change)), tf1_checkpoint, message
    )


def test_corrupted_files(tf1_checkpoint, reference_config, tmp_path):
    prefix = str(tmp_path / "cut.ckpt")
    data = ".data-00000-of-00001"
    for suffix in (".index", data):
        shutil.copy(tf1_checkpoint + suffix, prefix + suffix)
    # This is found only when a tensor is read.
    os.truncate(prefix + data, os.path.getsize(prefix + data) - 40)
    assert_load_fails(
        models.BertPretrainer(reference_config),
        prefix,
        Message("cut.ckpt", "the checkpoint cannot be read"),
    )
    (tmp_path / "cut.ckpt.index").write_bytes(b"anything but an index" * 9)
    with rejects("cut.ckpt", "the checkpoint cannot be read", "not an sstable"):
        open_checkpoint(prefix)


def test_a_directory_with_two_formats(reference, tmp_path, tf1_checkpoint, reference_config):
    original.write(tmp_path, open_checkpoint(tf1_checkpoint).tensors, reference_config)
    shutil.copy(reference / "hf_tiny" / "model.safetensors", tmp_path)
    with rejects(None, "contains bert_model.ckpt and model.safetensors", "set one of them"):
        open_checkpoint(str(tmp_path))
    assert open_checkpoint(str(tmp_path / "bert_model.ckpt")).format == "TF1 checkpoint"
    assert open_checkpoint(str(tmp_path / "model.safetensors")).format == "Hugging Face model"
    # Such a file is never opened, so it is ignored.
    os.rename(tmp_path / "model.safetensors", tmp_path / "pytorch_model.bin")
    assert open_checkpoint(str(tmp_path)).format == "TF1 checkpoint"


@pytest.mark.parametrize("to_path", [pathlib.Path, os.fsencode])
def test_paths_of_any_type(reference, tf1_checkpoint, to_path):
    for ending in ("", ".index", ".meta", ".data-00000-of-00001"):
        assert (
            ModelDirectory.open(to_path(f"{tf1_checkpoint}{ending}")).weights_path == tf1_checkpoint
        )
    checkpoint = open_checkpoint(to_path(str(reference / "hf_tiny")))
    assert (checkpoint.format, checkpoint.path) == (
        "Hugging Face model",
        str(reference / "hf_tiny" / "model.safetensors"),
    )


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("{}/nothing", r"^{}/nothing: no checkpoint found \(\*\.index or model\.safetensors\)$"),
        ("none.safetensors", r"^none\.safetensors: does not exist$"),
    ],
)
def test_missing_checkpoints(tmp_path, path, message):
    with pytest.raises(InputError, match=message.replace("{}", str(tmp_path))):
        open_checkpoint(path.replace("{}", str(tmp_path)))


def test_weights_that_keras_saved_in_the_format_of_tensorflow(reference_config, tmp_path):
    models.BertPretrainer(reference_config).save_weights(str(tmp_path / "weights"))
    for path in (tmp_path, tmp_path / "weights"):
        with rejects(
            f"{tmp_path}/weights",
            "was not written by these scripts",
            "load it into the model",
            "tf.train.Checkpoint(model=model).write",
        ):
            open_checkpoint(path)


def test_a_checkpoint_of_another_model(tmp_path):
    path = tf.train.Checkpoint(weights=tf.Variable([1.0])).save(str(tmp_path / "ckpt"))
    with rejects("ckpt-1", "does not contain a BERT", "its first"):
        open_checkpoint(path)


@pytest.mark.parametrize("graph", [tf.constant(b"\xff\xff no message"), tf.constant([1.5, 2.5])])
def test_a_corrupted_object_graph(tmp_path, graph):
    path = write_tensors(tmp_path / "ckpt", {OBJECT_GRAPH: graph})
    with rejects("ckpt", "the checkpoint cannot be read", f"its {OBJECT_GRAPH} is"):
        open_checkpoint(path)


def test_tensors_of_the_object_graph_that_do_not_exist(training_checkpoint, tmp_path):
    reader = tf.train.load_checkpoint(training_checkpoint[0])
    path = write_tensors(tmp_path / "cut", {OBJECT_GRAPH: reader.get_tensor(OBJECT_GRAPH)})
    with rejects("cut", "the checkpoint cannot be read", "it lists model/", "but does not"):
        open_checkpoint(path)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "cls/predictions/output_bias",
            np.array(b"text"),
            Message(None, "output_bias contains text in the checkpoint", "a model requires"),
        ),
        (
            "bert/encoder/layer_1/attention/self/key/bias",
            np.float32(0),
            Message(None, "self/key/bias has shape [] in the checkpoint"),
        ),
        (
            "bert/pooler/dense/bias",
            np.zeros(32, np.int8),
            Message(None, "bert/pooler/dense/bias has type int8", "weights must be"),
        ),
        (
            "bert/pooler/dense/bias",
            np.full(32, np.inf, np.float32),
            Message(None, "bert/pooler/dense/bias contains numbers that are not"),
        ),
    ],
)
def test_tensors_that_cannot_be_weights(
    tf1_checkpoint, reference_config, tmp_path, name, value, message
):
    reader = tf.train.load_checkpoint(tf1_checkpoint)
    tensors = {each: reader.get_tensor(each) for each in reader.get_variable_to_shape_map()} | {
        name: value
    }
    path = write_tensors(tmp_path / "ckpt", tensors)
    with raises_message(message, file=path):
        load_pretrained(models.BertPretrainer(reference_config), path)


@pytest.mark.parametrize("read", [TensorFlowFile, load_saved_model])
def test_paths_that_are_patterns_of_tensorflow(read):
    with rejects("m[1]/ckpt-3", "contains [", "TensorFlow interprets as a pattern"):
        read("m[1]/ckpt-3")
