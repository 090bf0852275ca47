"""The layers that models are made of: embeddings, attention, an encoder layer, heads, and what these share."""

from bert_tf.layers.attention import SelfAttention, attention_bias
from bert_tf.layers.basic import Dropout, LayerNorm, Projection, WeightInitializer
from bert_tf.layers.embeddings import Embeddings
from bert_tf.layers.encoder_layer import EncoderLayer
from bert_tf.layers.heads import LinearHead, MaskedLMHead, gather_positions
from bert_tf.layers.padding import AllTokens, RealTokens

__all__ = ["AllTokens", "Dropout", "Embeddings", "EncoderLayer", "LayerNorm", "LinearHead", "MaskedLMHead",
           "Projection", "RealTokens", "SelfAttention", "WeightInitializer", "attention_bias", "gather_positions"]
