"""The layers of the models: embeddings, attention, heads, an LSTM, and their shared parts."""

from bert_tf.layers.attention import AttentionMaps, SelfAttention
from bert_tf.layers.basic import (
    LayerNorm,
    Projection,
    SeededDropout,
    WeightInitializer,
    multiply,
    zero_weights,
)
from bert_tf.layers.context import (
    MASKED_SCORE,
    NO_SEEDS,
    BatchContext,
    LayerSeeds,
    attention_bias,
)
from bert_tf.layers.embeddings import Embeddings
from bert_tf.layers.encoder_layer import EncoderLayer
from bert_tf.layers.heads import LinearHead, MaskedLMHead
from bert_tf.layers.recurrent import LSTM_SEEDS, BiLSTM, BiLSTMHead, ScalarMix

__all__ = [
    "LSTM_SEEDS",
    "MASKED_SCORE",
    "NO_SEEDS",
    "AttentionMaps",
    "BatchContext",
    "BiLSTM",
    "BiLSTMHead",
    "Embeddings",
    "EncoderLayer",
    "LayerNorm",
    "LayerSeeds",
    "LinearHead",
    "MaskedLMHead",
    "Projection",
    "ScalarMix",
    "SeededDropout",
    "SelfAttention",
    "WeightInitializer",
    "attention_bias",
    "multiply",
    "zero_weights",
]
