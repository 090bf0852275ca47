import dataclasses
import os
import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.checkpoints import load_pretrained, open_checkpoint


def test_everything_loads_from_the_original(tf1_checkpoint, reference_config):
    model = models.BertPretrainer(reference_config)
    report = load_pretrained(model, tf1_checkpoint)
    assert len(report.loaded) == len(model.variables)
    assert report.missing == report.unused == ()
    assert str(report) == f"{tf1_checkpoint}: 38 variables loaded"


def test_query_key_and_value_lie_side_by_side(tf1_checkpoint, reference_config):
    encoder = models.BertEncoder(reference_config)
    load_pretrained(encoder, tf1_checkpoint)
    reader = tf.train.load_checkpoint(tf1_checkpoint)
    kernel = encoder.encoder_layers[1].attention.qkv.kernel.numpy()
    for number, name in enumerate(("query", "key", "value")):
        np.testing.assert_array_equal(
            kernel[:, 32 * number : 32 * (number + 1)],
            reader.get_tensor(f"bert/encoder/layer_1/attention/self/{name}/kernel"))


def test_a_new_head_is_missing_and_an_old_one_unused(tf1_checkpoint, reference_config):
    model = models.BertClassifier(reference_config, 3)
    report = load_pretrained(model, tf1_checkpoint)
    assert report.missing == ("output_weights", "output_bias")
    assert "cls/predictions/output_bias" in report.unused
    assert all(name.startswith("cls/") for name in report.unused)
    # The pooler comes from pre-training; a fresh one in fine-tuning is a known fault of ports.
    assert {"bert/pooler/dense/kernel", "bert/pooler/dense/bias"} <= set(report.loaded)


def test_variables_that_are_to_be_left_keep_their_values_whatever_the_checkpoint_holds(reference, reference_config):
    path = str(reference / "classify_final.ckpt")
    model = models.BertClassifier(reference_config, 7)
    with pytest.raises(ValueError, match=r"output_weights has shape \[\d+, 32\] in the checkpoint and \[7, 32\]"):
        load_pretrained(model, path)
    before = [variable.numpy() for variable in model.head.variables]
    report = load_pretrained(model, path, leave=("output_weights", "output_bias", "none_of_the_model"))
    assert report.left == ("output_weights", "output_bias")
    assert report.missing == ()
    assert report.unused == ("output_bias", "output_weights")
    assert "; left as initialised: output_weights, output_bias; in the checkpoint, not used: " in str(report)
    for variable, value in zip(model.head.variables, before, strict=True):
        np.testing.assert_array_equal(variable, value)


def test_weights_of_a_training_run_load_into_any_task(training_checkpoint, reference_config):
    path, trained = training_checkpoint
    model = models.BertClassifier(reference_config, 3)
    report = load_pretrained(model, path)
    assert report.missing == ("output_weights", "output_bias")
    assert all(name.startswith("cls/") for name in report.unused)  # no optimizer state, no generator
    for ours, theirs in zip(model.encoder.variables, trained.encoder.variables, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_folder_means_its_newest_checkpoint(training_checkpoint, tmp_path, reference_config):
    report = load_pretrained(models.BertPretrainer(reference_config), str(tmp_path / "run"))
    assert report.path == training_checkpoint[0]
    assert len(report.loaded) == 38


@pytest.mark.parametrize(("change", "message"), [
    ({"vocab_size": 123}, r"bert/embeddings/word_embeddings has shape \[120, 32\] in the checkpoint and \[123, 32\] in "
                          r"the model: set vocab_size to 120 in the model's config, or load with "
                          r"extend_vocabulary=True, which keeps these rows and leaves the 3 new ones as initialised"),
    ({"vocab_size": 119}, r"\[120, 32\] in the checkpoint and \[119, 32\] in the model: set vocab_size to 120 in the "
                          r"model's config, and use the checkpoint's own vocabulary: entries cannot be taken away"),
    ({"max_position_embeddings": 65}, r"bert/embeddings/position_embeddings has shape \[64, 32\] in the checkpoint and "
                                      r"\[65, 32\] in the model: set max_position_embeddings to 64"),
    ({"max_position_embeddings": 63}, r"set max_position_embeddings to 64 in the model's config; shorter sequences"),
    ({"type_vocab_size": 3}, r"token_type_embeddings has shape \[2, 32\] .* set type_vocab_size to 2 in the model's"),
    ({"intermediate_size": 65}, r"intermediate/dense/kernel has shape \[32, 64\] in the checkpoint and \[32, 65\]"),
    ({"hidden_size": 36}, r"has shape \[120, 32\] in the checkpoint and \[120, 36\] in the model"),
    ({"num_hidden_layers": 3}, "has no bert/encoder/layer_2/attention/self/qkv/kernel, nor 11 more"),
])
def test_another_models_checkpoint_changes_nothing(tf1_checkpoint, reference_config, change, message):
    model = models.BertEncoder(dataclasses.replace(reference_config, **change))
    before = [variable.numpy() for variable in model.variables]
    with pytest.raises(ValueError, match=message):
        load_pretrained(model, tf1_checkpoint)
    for value, variable in zip(before, model.variables, strict=True):
        np.testing.assert_array_equal(value, variable)


def test_no_checkpoint(tmp_path, reference_config):
    model = models.BertEncoder(reference_config)
    with pytest.raises(ValueError, match="nothing: no checkpoint there"):
        load_pretrained(model, str(tmp_path / "nothing"))
    with pytest.raises(ValueError, match=r"no checkpoint there \(looked for .*bert_model\.ckpt\.index\)"):
        load_pretrained(model, str(tmp_path))


def test_added_vocabulary_entries_keep_their_initial_values(tf1_checkpoint, reference_config):
    config = dataclasses.replace(reference_config, vocab_size=123)
    model = models.BertPretrainer(config)
    model.masked_lm.output_bias.assign(tf.range(123.0))
    fresh = model.encoder.embeddings.word_embeddings.numpy()
    report = load_pretrained(model, tf1_checkpoint, extend_vocabulary=True)

    assert report.extended == ("bert/embeddings/word_embeddings", "cls/predictions/output_bias")
    assert "; rows added, left as initialised: bert/embeddings/word_embeddings, cls/pre" in str(report)
    assert set(report.extended) < set(report.loaded)
    assert len(report.loaded) == 38
    reader = tf.train.load_checkpoint(tf1_checkpoint)
    for variable, name, new_rows in (
            (model.encoder.embeddings.word_embeddings, "bert/embeddings/word_embeddings", fresh[120:]),
            (model.masked_lm.output_bias, "cls/predictions/output_bias", [120, 121, 122])):
        np.testing.assert_array_equal(variable[:120], reader.get_tensor(name))
        np.testing.assert_array_equal(variable[120:], new_rows)


def test_only_vocabulary_entries_are_added_and_none_taken_away(tf1_checkpoint, reference_config):
    for change, message in (({"vocab_size": 119}, "entries cannot be taken away"),
                            ({"max_position_embeddings": 65}, "set max_position_embeddings to 64"),
                            ({"hidden_size": 36, "vocab_size": 121}, "the model's config must be the checkpoint's")):
        model = models.BertEncoder(dataclasses.replace(reference_config, **change))
        with pytest.raises(ValueError, match=message):
            load_pretrained(model, tf1_checkpoint, extend_vocabulary=True)


def test_damage_that_shows_only_on_reading_changes_nothing(tf1_checkpoint, reference_config, tmp_path):
    prefix = str(tmp_path / "cut.ckpt")
    shutil.copy(f"{tf1_checkpoint}.index", f"{prefix}.index")
    data = ".data-00000-of-00001"
    shutil.copy(tf1_checkpoint + data, prefix + data)
    os.truncate(prefix + data, os.path.getsize(prefix + data) - 40)
    model = models.BertPretrainer(reference_config)
    before = [variable.numpy() for variable in model.variables]
    with pytest.raises(ValueError, match=r"cut\.ckpt: the checkpoint cannot be read: "):
        load_pretrained(model, prefix)
    for value, variable in zip(before, model.variables, strict=True):
        np.testing.assert_array_equal(value, variable)

    (tmp_path / "cut.ckpt.index").write_bytes(b"anything but an index" * 9)
    with pytest.raises(ValueError, match=r"cut\.ckpt: the checkpoint cannot be read: not an sstable"):
        open_checkpoint(prefix)
