"""The technique that freezes layers of a run."""

import types

import pytest

from bert_tf import models
from run.techniques.freezing import Freezing
from tests import toy_servables
from tests.encoders import make_encoder


@pytest.mark.parametrize("num_steps", [7, None])
def test_layers_are_frozen_for_training_only(num_steps):
    model = models.BertClassifier(make_encoder(toy_servables.CONFIG), 3)
    run = types.SimpleNamespace(model=model, num_steps=num_steps)
    num_trainable = len(model.trainable_variables)
    Freezing(0).build(run)
    frozen = num_trainable - len(model.trainable_variables)
    assert frozen == (len(model.encoder.embeddings.variables) if num_steps else 0)
