"""A case for every public layer and model, and an object of every other class that Keras saves.

All cases read the same features. `call` computes a tensor or a dict of tensors.
"""

import dataclasses
from collections.abc import Callable

import numpy as np
import tensorflow as tf
import tf_keras

from bert_tf import fast, layers, losses, models, optimization
from bert_tf.config import BertConfig
from bert_tf.fast.compiled import CompiledLayer
from bert_tf.fast.layers import FastEmbeddings, FastLayer, FastMaskedLMHead
from bert_tf.fast.layout import Layout, SequenceLayout

B, S, H, N, L, V, P, SEGMENTS, LABELS, CHOICES = 2, 5, 6, 3, 2, 23, 4, 8, 9, 7
CONFIG = BertConfig(vocab_size=V, hidden_size=H, num_hidden_layers=L, num_attention_heads=N, intermediate_size=11,
                    max_position_embeddings=13, type_vocab_size=SEGMENTS, hidden_dropout_prob=0.2,
                    attention_probs_dropout_prob=0.3)
SEED = (3, 4)  # of dropout
FAST = fast.Fast(last_where_read=True, recompute=True, one_hot=True, vocabulary_multiple=8)


def make_features():
    """Features of all models, and x float32 [B, S, H]."""
    generator = np.random.default_rng(3)
    return {
        "input_ids": tf.constant(generator.integers(0, V, [B, S]), tf.int32),
        "input_mask": tf.constant([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], tf.int32),
        "segment_ids": tf.constant(generator.integers(0, SEGMENTS, [B, S]), tf.int32),
        "masked_lm_positions": tf.constant(generator.integers(0, S, [B, P]), tf.int32),
        "x": tf.constant(generator.normal(size=[B, S, H]), tf.float32),
    }


def make_choices(features):
    """The features of the texts, [B, CHOICES, S]."""
    return {name: tf.repeat(features[name][:, tf.newaxis], CHOICES, axis=1)
            for name in ("input_ids", "input_mask", "segment_ids")}


@dataclasses.dataclass(frozen=True)
class Case:
    """A layer or model.

    Attributes:
      make: Function dtype -> layer.
      call: Function (layer, features, training) -> tensor, or dict of tensors.
      unused: tuple of str. Ends of the names of trainable variables that the call does not use.
    """

    make: Callable
    call: Callable = lambda layer, features, training: layer(
        {name: value for name, value in features.items() if name != "x"}, training=training)
    unused: tuple[str, ...] = ()


def initializer():
    return layers.WeightInitializer(0.5, seed=7)


def encoder(dtype):
    return models.BertEncoder(CONFIG, seed=5, dtype=dtype)


def fast_encoder(dtype):
    return fast.FastEncoder(CONFIG, FAST, seed=5, dtype=dtype)


def on_tokens(layer, features, training):
    """Calls a layer of tokens: x [T, H], in the layer's compute dtype."""
    del training
    return layer(tf.cast(tf.reshape(features["x"], [-1, H]), layer.compute_dtype))


def attend(layer, features, training):
    return layer(tf.cast(features["x"], layer.compute_dtype), layers.attention_bias(features["input_mask"]),
                 SEED if training else None)[0]


def transform(layer, features, training):
    return layer(tf.cast(features["x"], layer.compute_dtype), layers.attention_bias(features["input_mask"]),
                 [SEED] * 3 if training else layers.NO_SEEDS)


def transform_fast(layer, features, training):
    layout = (SequenceLayout if isinstance(layer, fast.EinsumLayer) else Layout)(features["input_mask"])
    x = tf.cast(features["x"], layer.compute_dtype)
    return layer(layout.tokens(x), layout, layers.attention_bias(features["input_mask"]),
                 [SEED] * 3 if training else layers.NO_SEEDS)


def embed(layer, features, training):
    return layer(features["input_ids"], features["segment_ids"], seed=SEED if training else None)


def embed_fast(layer, features, training):
    return layer(features["input_ids"], features["segment_ids"], Layout(features["input_mask"]),
                 seed=SEED if training else None)


EMBEDDINGS = layers.Embeddings(CONFIG, initializer())

CASES = {
    "Projection": Case(lambda dtype: layers.Projection(H, 8, initializer(), "gelu", name="dense", dtype=dtype),
                       on_tokens),
    "LayerNorm": Case(lambda dtype: layers.LayerNorm(H), on_tokens),
    "SeededDropout": Case(
        lambda dtype: layers.SeededDropout(0.5, dtype=dtype),
        lambda layer, features, training: layer(features["x"], seed=SEED if training else None)),
    "PackedDropout": Case(
        lambda dtype: fast.PackedDropout(0.5, dtype=dtype),
        lambda layer, features, training: layer(features["x"], seed=SEED if training else None)),
    "SelfAttention": Case(lambda dtype: layers.SelfAttention(CONFIG, initializer(), num_heads=2, dtype=dtype), attend),
    "EncoderLayer": Case(
        lambda dtype: layers.EncoderLayer(CONFIG, initializer(), sizes=(2, 10), name="layer", dtype=dtype), transform),
    "Embeddings": Case(lambda dtype: layers.Embeddings(CONFIG, initializer()), embed),
    **{kind.__name__: Case(
        lambda dtype, kind=kind: kind(CONFIG, initializer(), sizes=(2, 10), name="layer", dtype=dtype), transform_fast)
       for kind in (FastLayer, CompiledLayer, fast.EinsumLayer)},
    "FastEmbeddings": Case(lambda dtype: FastEmbeddings(CONFIG, initializer()), embed_fast),
    "FastMaskedLMHead": Case(
        lambda dtype: FastMaskedLMHead(CONFIG, initializer(), vocabulary_multiple=8, dtype=dtype),
        lambda layer, features, training: layer(
            tf.cast(tf.reshape(features["x"], [-1, H]), layer.compute_dtype), EMBEDDINGS)),
    "MaskedLMHead": Case(
        lambda dtype: layers.MaskedLMHead(CONFIG, initializer(), dtype=dtype),
        lambda layer, features, training: layer(
            tf.cast(tf.reshape(features["x"], [-1, H]), layer.compute_dtype), EMBEDDINGS)),
    "LinearHead": Case(lambda dtype: layers.LinearHead(CONFIG, LABELS, initializer(), name="head"), on_tokens),
    "ScalarMix": Case(lambda dtype: layers.ScalarMix(S),
                      lambda layer, features, training: layer(features["x"], axis=1)),
    "BiLSTM": Case(lambda dtype: layers.BiLSTM(H, 4, (1, 2), name="lstm"),
                   lambda layer, features, training: layer(features["x"], features["input_mask"] > 0)),
    "BiLSTMHead": Case(lambda dtype: layers.BiLSTMHead(H, 3),
                       lambda layer, features, training: layer(features["x"], features["input_mask"])[0]),
    "BertEncoder": Case(encoder),
    "FastEncoder": Case(fast_encoder),
    "BertPretrainer": Case(lambda dtype: models.BertPretrainer(encoder(dtype))),
    "BertClassifier": Case(lambda dtype: models.BertClassifier(fast_encoder(dtype), LABELS, dropout_rate=0.25)),
    "BertTokenClassifier": Case(lambda dtype: models.BertTokenClassifier(encoder(dtype), LABELS), unused=("pooler",)),
    "BertSpanLabeler": Case(lambda dtype: models.BertSpanLabeler(encoder(dtype)), unused=("pooler",)),
    "BertMultipleChoice": Case(
        lambda dtype: models.BertMultipleChoice(encoder(dtype)),
        lambda layer, features, training: layer(make_choices(features), training=training)),
    "BertLongTextClassifier": Case(
        lambda dtype: models.BertLongTextClassifier(encoder(dtype), LABELS, pooling="max"),
        lambda layer, features, training: layer(make_choices(features), training=training)),
}

OBJECTS = {
    "TotalLoss": losses.pretraining_loss,
    "WarmupDecay": optimization.WarmupDecay(1e-3, 100, 10, power=2.0),
    "BertAdamW": optimization.create_optimizer(1e-3, 100, 10, weight_decay=0.02, no_decay=["bias"], scale_loss=True),
    "Lamb": optimization.create_optimizer(1e-3, 100, 10, "lamb", clip_norm=2.0, beta_2=0.99),
    "LiteRTLayer": None,  # computes batches of a fixed shape
    "ClippingOptimizer": None,  # an abstract class
}


@tf_keras.saving.register_keras_serializable(package="tests")
class Holder(tf_keras.Model):
    """A model that calls a case's layer, which may need more than tensors."""

    def __init__(self, layer, case):
        super().__init__(name="holder")
        self.layer, self._case = layer, case
        self.built = True

    def call(self, features, training=False):
        return CASES[self._case].call(self.layer, features, training)

    def get_config(self):
        return {"layer": tf_keras.saving.serialize_keras_object(self.layer), "case": self._case}

    @classmethod
    def from_config(cls, config):
        return cls(tf_keras.saving.deserialize_keras_object(config["layer"]), config["case"])
