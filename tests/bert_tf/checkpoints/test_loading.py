"""Checkpoints loaded into models: variables that are loaded, missing, unused, and extended, and models that differ."""

import dataclasses
import os
import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.checkpoints import load_pretrained, open_checkpoint
from bert_tf.errors import InputError


def assert_load_fails(model, path, message, **options):
    """Asserts that loading raises an InputError with a message and changes no variable."""
    before = [variable.numpy() for variable in model.variables]
    with pytest.raises(InputError, match=message):
        load_pretrained(model, path, **options)
    for value, variable in zip(before, model.variables, strict=True):
        np.testing.assert_array_equal(value, variable)


def test_all_variables_are_loaded(tf1_checkpoint, reference_config):
    model = models.BertPretrainer(reference_config)
    report = load_pretrained(model, tf1_checkpoint)
    assert len(report.loaded) == len(model.variables)
    assert report.missing == report.unused == ()
    assert str(report) == f"{tf1_checkpoint}: 38 variables loaded"
    reader = tf.train.load_checkpoint(tf1_checkpoint)
    kernel = model.encoder.encoder_layers[1].attention.qkv.kernel.numpy()
    for number, name in enumerate(("query", "key", "value")):
        np.testing.assert_array_equal(
            kernel[:, 32 * number : 32 * (number + 1)],
            reader.get_tensor(f"bert/encoder/layer_1/attention/self/{name}/kernel"))


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
    assert_load_fails(model, path, r"output_weights has shape \[\d+, 32\] in the checkpoint and \[7, 32\]")
    before = [variable.numpy() for variable in model.head.variables]
    report = load_pretrained(model, path, leave=("output_weights", "output_bias", "none_of_the_model"))
    assert report.left == ("output_weights", "output_bias")
    assert report.missing == ()
    assert report.unused == ("output_bias", "output_weights")
    assert "; initial values kept: output_weights, output_bias; in the checkpoint, not used: " in str(report)
    for variable, value in zip(model.head.variables, before, strict=True):
        np.testing.assert_array_equal(variable, value)


def test_weights_of_a_training_run_without_optimizer_state(training_checkpoint, reference_config):
    path, trained = training_checkpoint
    model = models.BertClassifier(reference_config, 3)
    report = load_pretrained(model, path)
    assert report.missing == ("output_weights", "output_bias")
    assert all(name.startswith("cls/") for name in report.unused)
    for ours, theirs in zip(model.encoder.variables, trained.encoder.variables, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(("change", "message"), [
    ({"vocab_size": 123}, r"bert/embeddings/word_embeddings has shape \[120, 32\] in the checkpoint and \[123, 32\] in "
                          r"the model; set vocab_size to 120 in the model's config, and use the checkpoint's voc"),
    ({"max_position_embeddings": 65}, r"bert/embeddings/position_embeddings has shape \[64, 32\] in the checkpoint and "
                                      r"\[65, 32\] in the model; set max_position_embeddings to 64"),
    ({"max_position_embeddings": 63}, r"set max_position_embeddings to 64 in the model's config; shorter sequences"),
    ({"type_vocab_size": 3}, r"token_type_embeddings has shape \[2, 32\] .* set type_vocab_size to 2 in the model's"),
    ({"intermediate_size": 65}, r"intermediate/dense/kernel has shape \[32, 64\] in the checkpoint and \[32, 65\]"),
    ({"hidden_size": 36}, r"has shape \[120, 32\] in the checkpoint and \[120, 36\] in the model"),
    ({"num_hidden_layers": 3}, "lacks bert/encoder/layer_2/attention/self/qkv/kernel and 11 more encoder"),
])
def test_models_of_other_sizes(tf1_checkpoint, reference_config, change, message):
    assert_load_fails(models.BertEncoder(dataclasses.replace(reference_config, **change)), tf1_checkpoint, message)


def test_corrupted_files(tf1_checkpoint, reference_config, tmp_path):
    prefix, data = str(tmp_path / "cut.ckpt"), ".data-00000-of-00001"
    for suffix in (".index", data):
        shutil.copy(tf1_checkpoint + suffix, prefix + suffix)
    os.truncate(prefix + data, os.path.getsize(prefix + data) - 40)  # found only when a tensor is read
    assert_load_fails(models.BertPretrainer(reference_config), prefix, r"cut\.ckpt: the checkpoint cannot be read: ")
    (tmp_path / "cut.ckpt.index").write_bytes(b"anything but an index" * 9)
    with pytest.raises(InputError, match=r"cut\.ckpt: the checkpoint cannot be read: not an sstable"):
        open_checkpoint(prefix)
