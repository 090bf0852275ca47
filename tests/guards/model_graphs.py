"""The object graphs of the models that others build on, as `tf.train.Checkpoint(model=...)` writes them."""

import dataclasses
import tempfile

import tensorflow as tf

from bert_tf import models
from bert_tf.config import BertConfig
from tests.guards import checkpoints, toy

CONFIG = BertConfig(**toy.CONFIG)
MODELS = {
    "models/encoder": models.BertEncoder,
    "models/pretrainer": models.BertPretrainer,
    "models/classifier": lambda config: models.BertClassifier(config, 3),
    "models/token_classifier": lambda config: models.BertTokenClassifier(config, 3),
    "models/span_labeler": models.BertSpanLabeler,
    "models/multiple_choice": models.BertMultipleChoice,
}
SIZES = {
    "factorised": {"embedding_size": 12},
    "shared": {"num_hidden_groups": 1},
    "pruned": {"attention_heads_per_layer": (1, 3), "intermediate_size_per_layer": (7, 9)},
}
NAMES = (*MODELS, *(f"models/pretrainer_{name}" for name in SIZES))


def lines(name):
    """The lines of `checkpoints.lines_of` of one of NAMES."""
    sizes = name.partition("pretrainer_")[2]
    make = MODELS["models/pretrainer" if sizes else name]
    with tempfile.TemporaryDirectory() as folder:
        model = make(dataclasses.replace(CONFIG, **SIZES.get(sizes, {})))
        return checkpoints.lines_of(tf.train.load_checkpoint(tf.train.Checkpoint(model=model).write(f"{folder}/model")))
