"""The layers of the models: embeddings, attention, heads, an LSTM, and the layers that these share."""

from bert_tf.layers.arithmetic import Arithmetic, Attention, Layout
from bert_tf.layers.attention import SelfAttention, attention_bias, packed_attention_bias
from bert_tf.layers.basic import Drop, Dropout, LayerNorm, Projection, WeightInitializer
from bert_tf.layers.embeddings import Embeddings
from bert_tf.layers.encoder_layer import EncoderLayer, LayerRun
from bert_tf.layers.heads import LinearHead, MaskedLMHead
from bert_tf.layers.hooks import Hook, attach, attached, detach
from bert_tf.layers.mix import ScalarMix
from bert_tf.layers.recurrent import BiLSTM

__all__ = ["Arithmetic", "Attention", "BiLSTM", "Drop", "Dropout", "Embeddings", "EncoderLayer", "Hook", "LayerNorm",
           "LayerRun", "Layout", "LinearHead", "MaskedLMHead", "Projection", "ScalarMix", "SelfAttention",
           "WeightInitializer", "attach", "attached", "attention_bias", "detach", "packed_attention_bias"]
