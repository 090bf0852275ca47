"""The layers that models are made of: embeddings, attention, heads, an LSTM, and what these share."""

from bert_tf.layers.attention import SelfAttention, attention_bias, packed_attention_bias
from bert_tf.layers.basic import Dropout, LayerNorm, Projection, WeightInitializer
from bert_tf.layers.cast_weights import CastWeights, projection_weights, replaced
from bert_tf.layers.embeddings import Embeddings
from bert_tf.layers.encoder_layer import EncoderLayer
from bert_tf.layers.heads import LinearHead, MaskedLMHead
from bert_tf.layers.mix import ScalarMix
from bert_tf.layers.padding import AllTokens, RealTokens
from bert_tf.layers.recurrent import BiLSTM

__all__ = ["AllTokens", "BiLSTM", "CastWeights", "Dropout", "Embeddings", "EncoderLayer", "LayerNorm", "LinearHead",
           "MaskedLMHead", "Projection", "RealTokens", "ScalarMix", "SelfAttention", "WeightInitializer",
           "attention_bias", "packed_attention_bias", "projection_weights", "replaced"]
