"""Checkpoints to read: the original's, and one of a training run."""

import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.optimization import create_optimizer


def write_tensors(prefix, tensors):
    """Writes a TensorFlow checkpoint of tensors by name; returns its prefix, str."""
    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=list(tensors),
        shape_and_slices=[""] * len(tensors),
        tensors=list(tensors.values()),
    )
    return str(prefix)


@pytest.fixture(scope="session")
def tf1_checkpoint(reference):
    return str(reference / "pretrain_init.ckpt")


@pytest.fixture(scope="session")
def training_checkpoint(tmp_path_factory, reference_config):
    """The path of the latest of two checkpoints of a training run, and its model.

    The directory contains no other checkpoints.
    """
    model = models.BertPretrainer(models.BertEncoder(reference_config, seed=4))
    optimizer = create_optimizer(1e-3, 5, 1)
    checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer)
    manager = tf.train.CheckpointManager(
        checkpoint, str(tmp_path_factory.mktemp("run")), max_to_keep=2
    )
    manager.save()
    gradients = [tf.ones_like(variable) for variable in model.trainable_variables]
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return manager.save(), model
