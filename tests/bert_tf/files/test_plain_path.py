"""Paths with characters of patterns, which TensorFlow cannot escape."""

import gc
import os

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.checkpoints.tensorflow_file import TensorFlowFile
from bert_tf.serving.saved_model import load_saved_model


@pytest.mark.parametrize("prefix", ["m[1]/ckpt-3", "m[1]/a*?", "plain/ckpt-3"])
def test_checkpoints_and_saved_models(tmp_path, prefix):
    prefix, numbers = str(tmp_path / prefix), tf.Variable(np.arange(3.0))
    (tmp_path / "plain").mkdir()
    tf.train.Checkpoint(numbers=numbers).write(str(tmp_path / "plain" / "ckpt-3"))
    os.makedirs(os.path.dirname(prefix), exist_ok=True)
    for name in ("index", "data-00000-of-00001"):
        os.replace(tmp_path / "plain" / f"ckpt-3.{name}", f"{prefix}.{name}")
    tensors = TensorFlowFile(prefix)
    gc.collect()  # A tensor is read later, when the link must still exist.
    key, = (key for key in tensors if "numbers" in key)
    assert tensors.tensor(key).read().tolist() == [0, 1, 2]
    module = tf.Module()
    module.numbers = numbers
    tf.saved_model.save(module, str(tmp_path / "saved"))
    os.replace(tmp_path / "saved", f"{prefix}[saved]")
    assert load_saved_model(f"{prefix}[saved]").numbers.numpy().tolist() == [0, 1, 2]
