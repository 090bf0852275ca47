"""The layers of the models: embeddings, attention, heads, an LSTM, and the layers that these share."""

from bert_tf.layers.arithmetic import Arithmetic, AttentionMaps, Layout
from bert_tf.layers.attention import SelfAttention, attention_bias, causal_attention_bias, packed_attention_bias
from bert_tf.layers.basic import Drop, LayerNorm, Projection, SeededDropout, WeightInitializer
from bert_tf.layers.embeddings import Embeddings
from bert_tf.layers.encoder_layer import EncoderLayer, LayerRun
from bert_tf.layers.heads import LinearHead, MaskedLMHead
from bert_tf.layers.hooks import Hook, attach, attach_hooks, detach, matmul
from bert_tf.layers.mix import ScalarMix
from bert_tf.layers.recurrent import LSTM_SEEDS, BiLSTM, BiLSTMHead

__all__ = ["LSTM_SEEDS", "Arithmetic", "AttentionMaps", "BiLSTM", "BiLSTMHead", "Drop", "Embeddings", "EncoderLayer",
           "Hook", "LayerNorm", "LayerRun", "Layout", "LinearHead", "MaskedLMHead", "Projection", "ScalarMix",
           "SeededDropout", "SelfAttention", "WeightInitializer", "attach", "attach_hooks", "attention_bias",
           "causal_attention_bias", "detach", "matmul", "packed_attention_bias"]
