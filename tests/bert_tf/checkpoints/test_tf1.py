"""Reading and writing checkpoints of the original."""

import os

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.checkpoints import model_tensors, open_checkpoint, tf1


def test_optimizer_state_of_the_original_is_not_read(tmp_path):
    tensors = {name: tf.zeros([3]) for name in ("bert/pooler/dense/bias", "bert/pooler/dense/bias/adam_m",
                                                "bert/pooler/dense/bias/adam_v", "global_step")}
    prefix = str(tmp_path / "model.ckpt-7")
    tf.raw_ops.SaveV2(prefix=prefix, tensor_names=list(tensors), shape_and_slices=[""] * 4,
                      tensors=list(tensors.values()))
    assert set(open_checkpoint(prefix).tensors) == {"bert/pooler/dense/bias"}


def test_weights_are_written_without_optimizer_state(training_checkpoint, tmp_path, reference_config):
    path, model = training_checkpoint
    folder = tmp_path / "released"
    assert tf1.write(folder, open_checkpoint(path).tensors, reference_config) == ()
    assert sorted(os.listdir(folder)) == [
        "bert_config.json", "bert_model.ckpt.data-00000-of-00001", "bert_model.ckpt.index"]
    reader = tf.train.load_checkpoint(str(folder / "bert_model.ckpt"))
    expected = model_tensors(model)
    assert set(reader.get_variable_to_shape_map()) == set(expected)
    for name, tensor in expected.items():
        np.testing.assert_array_equal(reader.get_tensor(name), tensor.read())
    weights = sum(4 * np.prod(tensor.shape) for tensor in expected.values())
    assert os.path.getsize(folder / "bert_model.ckpt.data-00000-of-00001") == weights
    assert open_checkpoint(str(folder)).config == reference_config


def test_the_saver_of_tensorflow_1_reads_the_files(tf1_checkpoint, tmp_path, reference_config):
    tensors = open_checkpoint(tf1_checkpoint).tensors
    tf1.write(tmp_path / "out", tensors, reference_config)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        variables = [tf.compat.v1.get_variable(name, tensor.shape) for name, tensor in tensors.items()]
        tf.compat.v1.train.Saver().restore(session, str(tmp_path / "out" / "bert_model.ckpt"))
        for value, tensor in zip(session.run(variables), tensors.values(), strict=True):
            np.testing.assert_array_equal(value, tensor.read())


def test_a_failed_write_leaves_the_old_files(tf1_checkpoint, tmp_path, reference_config):
    tensors = open_checkpoint(tf1_checkpoint).tensors
    tf1.write(tmp_path / "out", tensors, reference_config)
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    with pytest.raises(AttributeError):
        tf1.write(tmp_path / "out", tensors, None)
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    assert sorted(os.listdir(tmp_path)) == ["out"]
