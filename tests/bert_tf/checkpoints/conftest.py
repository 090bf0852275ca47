"""Checkpoints to read: the original's, and one of a training run."""

import pytest
import tensorflow as tf

from bert_tf import models
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
