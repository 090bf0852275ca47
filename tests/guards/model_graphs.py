"""The object graphs of the models that others build on, as `tf.train.Checkpoint(model=...)` writes them."""

import dataclasses
import pathlib
import tempfile

import tensorflow as tf

from bert_tf import models
from bert_tf.config import BertConfig
from tests.guards import checkpoints, toy

MODELS = {
    "models/encoder": models.BertEncoder,
    "models/pretrainer": models.BertPretrainer,
    "models/classifier": lambda config: models.BertClassifier(config, 3),
    "models/token_classifier": lambda config: models.BertTokenClassifier(config, 3),
    "models/span_labeler": models.BertSpanLabeler,
    "models/multiple_choice": models.BertMultipleChoice,
}
SIZES = {  # Changes to the config of a BertPretrainer.
    "models/factorized": {"embedding_size": 12},
    "models/shared": {"num_hidden_groups": 1},
    "models/pruned": {"attention_heads_per_layer": (1, 3), "intermediate_size_per_layer": (7, 9)},
}
NAMES = (*MODELS, *SIZES)


def list_variables(name):
    """Returns the lines of `checkpoints.list_variables` of one of NAMES."""
    config = dataclasses.replace(BertConfig(**toy.CONFIG), **SIZES.get(name, {}))
    with tempfile.TemporaryDirectory() as folder:
        tf.train.Checkpoint(model=MODELS.get(name, models.BertPretrainer)(config)).write(f"{folder}/model")
        return checkpoints.list_variables(pathlib.Path(folder))
