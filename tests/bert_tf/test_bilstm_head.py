"""The BiLSTM between the encoder and the head of a task: in each model, compared with NumPy."""


import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from tests.encoders import make_encoder, make_features
from tests.numpy_lstm import bidirectional

H, S, LABELS = 10, 7, 3
CONFIG = BertConfig(40, H, 1, 2, 12, max_position_embeddings=S, type_vocab_size=2, attention="causal",
                    bilstm_head=True, initializer_range=0.3)
LENGTHS = (7, 1, 4, 5)
FEATURES = make_features(CONFIG, LENGTHS)
CHOICES = {name: tf.reshape(value, [2, 2, S]) for name, value in FEATURES.items()}
MODELS = {"classifier": lambda encoder: models.BertClassifier(encoder, LABELS),
          "tagger": lambda encoder: models.BertTokenClassifier(encoder, LABELS),
          "spans": models.BertSpanLabeler, "choices": models.BertMultipleChoice,
          "long texts": lambda encoder: models.BertLongTextClassifier(encoder, LABELS)}


def read_plainly(model):
    """Returns the BiLSTM's outputs of each row of FEATURES, a list of [length, H], computed in NumPy."""
    states = make_encoder(CONFIG)(FEATURES)["sequence_output"].numpy()
    weights = [variable.numpy() for variable in model.bilstm.trainable_variables]
    return [bidirectional(row[:length], weights) for row, length in zip(states, LENGTHS, strict=True)]


def apply_head(model, vectors):
    return vectors @ model.head.output_weights.numpy().T + model.head.output_bias.numpy()


def summarize(outputs):
    """Returns the last output of each direction, [rows, H]."""
    return np.stack([np.concatenate([row[-1, :H // 2], row[0, H // 2:]]) for row in outputs])


@pytest.mark.parametrize("options", [{}, {"layers": "unpadded", "last_where_read": True}], ids=["plain", "fast"])
@pytest.mark.parametrize("name", MODELS)
def test_outputs(name, options):
    model = MODELS[name](make_encoder(CONFIG, **options))
    for number, variable in enumerate(model.bilstm.trainable_variables):
        variable.assign(np.random.default_rng(number).normal(size=variable.shape))
    features = CHOICES if name in ("choices", "long texts") else FEATURES
    outputs, rows = model(features), read_plainly(model)
    if name in ("tagger", "spans"):
        found = outputs["logits"] if name == "tagger" else tf.stack(list(outputs.values()), axis=-1)
        for row, logits in zip(rows, found.numpy(), strict=True):
            np.testing.assert_allclose(logits[:len(row)], apply_head(model, row), atol=2e-6)
    else:
        expected = apply_head(model, summarize(rows))
        if name != "classifier":
            expected = expected.reshape(2, 2, -1)
            expected = expected[..., 0] if name == "choices" else expected.mean(axis=1)
        np.testing.assert_allclose(outputs["logits"], expected, atol=2e-6)
    complete = model(features, return_attention_scores=True)
    for key, value in outputs.items():
        np.testing.assert_allclose(complete[key], value, atol=2e-6)
    assert complete["encoder"]["sequence_output"].shape == [len(LENGTHS), S, H]


def test_packed_rows():
    with pytest.raises(InputError, match="packed rows cannot be combined with a BiLSTM"):
        models.BertTokenClassifier(CONFIG, LABELS)({**FEATURES, "positions": FEATURES["segment_ids"]})
