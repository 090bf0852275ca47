"""Every model, and an object of every other class that Keras saves.

All models read the same features.
"""

import dataclasses

import numpy as np
import tensorflow as tf

from bert_tf import fast, losses, models, optimization
from bert_tf.config import BertConfig
from tests import encoders

B = 2
S = 5
H = 6
N = 3
L = 2
V = 23
P = 4
SEGMENTS = 8
LABELS = 9
CHOICES = 7
CONFIG = BertConfig(
    vocab_size=V,
    hidden_size=H,
    num_hidden_layers=L,
    num_attention_heads=N,
    intermediate_size=11,
    max_position_embeddings=13,
    type_vocab_size=SEGMENTS,
    hidden_dropout_prob=0.2,
    attention_probs_dropout_prob=0.3,
)
FAST = fast.Fast(last_where_read=True, recompute=True, one_hot=True, vocabulary_multiple=8)


FEATURES = encoders.make_features(CONFIG, (S, 3)) | {
    "masked_lm_positions": tf.constant([[4, 0, 3, 1], [2, 0, 1, 1]])
}


def call(model, features, training=False):
    """Calls a model; models of several texts per example read each text CHOICES times."""
    if isinstance(model, models.BertMultipleChoice | models.BertLongTextClassifier):
        features = {
            name: tf.repeat(features[name][:, tf.newaxis], CHOICES, axis=1)
            for name in ("input_ids", "input_mask", "segment_ids")
        }
    return model(features, training=training)


def make_encoder(dtype, **changes):
    return models.BertEncoder(dataclasses.replace(CONFIG, **changes), seed=5, dtype=dtype)


def make_fast_encoder(dtype):
    return fast.FastEncoder(CONFIG, FAST, seed=5, dtype=dtype)


MODELS = {  # Functions of a dtype.
    "BertEncoder": make_encoder,
    "FastEncoder": make_fast_encoder,
    "BertPretrainer": lambda dtype: models.BertPretrainer(make_encoder(dtype)),
    "BertClassifier": lambda dtype: models.BertClassifier(
        make_fast_encoder(dtype), LABELS, dropout_rate=0.25
    ),
    "BertTokenClassifier": lambda dtype: models.BertTokenClassifier(
        make_encoder(dtype, bilstm_head=True), LABELS
    ),
    "BertSpanLabeler": lambda dtype: models.BertSpanLabeler(make_encoder(dtype)),
    "BertMultipleChoice": lambda dtype: models.BertMultipleChoice(make_encoder(dtype)),
    "BertLongTextClassifier": lambda dtype: models.BertLongTextClassifier(
        make_encoder(dtype), LABELS, pooling="max"
    ),
}

OBJECTS = {
    "TotalLoss": losses.pretraining_loss,
    "WarmupDecay": optimization.WarmupDecay(1e-3, 100, 10, power=2.0),
    "BertAdamW": optimization.create_optimizer(
        1e-3, 100, 10, weight_decay=0.02, no_decay=["bias"], scale_loss=True
    ),
    "Lamb": optimization.create_optimizer(1e-3, 100, 10, "lamb", clip_norm=2.0, beta_2=0.99),
}


def randomize(layer):
    """Assigns random weights, also to biases and normalization."""
    generator = np.random.default_rng(5)
    for variable in layer.weights:
        variable.assign(generator.normal(scale=0.3, size=variable.shape))
