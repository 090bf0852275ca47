"""LoRA: an encoder whose kernels stay, each with a low-rank adapter that is trained (bert_tf.layers.adapter).

    add_adapters(encoder, rank=8, alpha=16.0, seed=1)     before the optimizer is built and anything is traced
    merge_adapters(encoder)                               after training: a plain encoder that computes the same

A checkpoint of such a model is read as that of a plain one, with the adapters merged (bert_tf.checkpoints.adapters).
"""

import tensorflow as tf

from bert_tf.checkpoints.adapters import SCALE
from bert_tf.errors import InputError
from bert_tf.freezing import freeze
from bert_tf.layers import attach, detach
from bert_tf.layers.adapter import LowRankAdapter


def add_adapters(encoder, rank, alpha, seed, frozen_layers=0):
    """Freezes the embeddings and layers of an encoder, and gives its layers' kernels adapters: query, key, value and
    output of attention, and both of the feed-forward network. The pooler stays to be trained, as a part of the head.

    Args:
      encoder: BertEncoder; to be called in the strategy's scope.
      rank: int, of each adapter.
      alpha: float; alpha / rank is the factor of what adapters add.
      seed: int.
      frozen_layers: int, the lowest layers that get none, see bert_tf.freezing.

    Raises:
      InputError: no layer is left.
    """
    freeze(encoder, frozen_layers)
    layers = [layer for layer in dict.fromkeys(encoder.encoder_layers) if layer.trainable]
    if not layers:
        raise InputError(f"`freeze_layers`={frozen_layers}: leaves no layer for `lora_rank`={rank}")
    adapters = []
    for layer in layers:
        layer.trainable = False
        for projection in _projections(layer):
            parts = 3 if projection is layer.attention.qkv else 1
            adapter = LowRankAdapter(projection.kernel, rank, alpha / rank, parts, (seed, len(adapters)),
                                     dtype=projection.dtype_policy)
            attach(projection, adapter)
            adapters.append(adapter)
    encoder.adapters = adapters  # of whose variables Keras makes the encoder's
    encoder.adapter_scale = tf.Variable(alpha / rank, trainable=False, name=SCALE)  # for who reads a checkpoint


def merge_adapters(encoder):
    """Adds what the adapters of an encoder compute to its kernels, and takes them off.

    Functions that were traced with them compute the same after it: their part of it is then 0.
    """
    for layer in dict.fromkeys(encoder.encoder_layers):
        for projection in _projections(layer):
            for adapter in [hook for hook in projection.hooks if isinstance(hook, LowRankAdapter)]:
                detach(projection, adapter)
                projection.kernel.assign_add(adapter.delta())
                adapter.lora_b.assign(tf.zeros_like(adapter.lora_b))


def _projections(layer):
    """The Projections of an EncoderLayer."""
    return layer.attention.qkv, layer.attention_output, layer.intermediate, layer.output_projection
