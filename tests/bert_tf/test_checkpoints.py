import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.checkpoints import load_pretrained, tf1
from bert_tf.optimization import create_optimizer


@pytest.fixture
def tf1_checkpoint(reference):
    return str(reference / "pretrain_init.ckpt")


@pytest.fixture
def training_checkpoint(tmp_path, reference_config, reference_batches):
    """A checkpoint as the training loop writes it, one step in, and its model."""
    model = models.BertPretrainer(models.BertEncoder(reference_config, seed=4))
    optimizer = create_optimizer(1e-3, 5, 1)
    gradients = [tf.ones_like(variable) for variable in model.trainable_variables]
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    manager = tf.train.CheckpointManager(
        tf.train.Checkpoint(model=model, optimizer=optimizer), str(tmp_path / "run"), max_to_keep=1)
    return manager.save(), model


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


def test_slots_of_the_originals_optimizer_are_not_reported():
    class Reader:
        def get_variable_to_shape_map(self):
            return {"bert/pooler/dense/bias": [3], "bert/pooler/dense/bias/adam_m": [3],
                    "bert/pooler/dense/bias/adam_v": [3], "global_step": []}
    assert set(tf1.read_tensors(Reader())) == {"bert/pooler/dense/bias"}


@pytest.mark.parametrize(("change", "message"), [
    ({"vocab_size": 121}, r"bert/embeddings/word_embeddings has shape \[120, 32\] in the checkpoint and \[121, 32\]"),
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
