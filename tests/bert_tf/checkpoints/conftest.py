"""Directories of models, and checkpoints: the original's, and one of a training run."""

import json

import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.config import BertConfig
from bert_tf.optimization import create_optimizer
from bert_tf.tasks.metadata import TaskMetadata

SMALL = BertConfig(
    vocab_size=19,
    hidden_size=6,
    num_hidden_layers=2,
    num_attention_heads=3,
    intermediate_size=7,
    max_position_embeddings=13,
    type_vocab_size=5,
)
HUGGING_FACE = SMALL.to_dict() | {"model_type": "bert", "architectures": ["BertModel"]}


def describe(kind, labels=(), multi_label=False):
    """Returns the TaskMetadata of a config.json."""
    return TaskMetadata(kind, None, None, labels, multi_label=multi_label)


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


@pytest.fixture
def written(tmp_path):
    """(name=content, ...) -> the directory with these files.

    A dict is written as JSON. The last `_` of a name stands for a dot.
    """

    def write(folder=tmp_path, **contents):
        folder.mkdir(exist_ok=True)
        for name, content in contents.items():
            stem, _, suffix = name.rpartition("_")
            (folder / f"{stem}.{suffix}").write_text(
                content if isinstance(content, str) else json.dumps(content)
            )
        return str(folder)

    return write
