"""Layers of an encoder that training leaves as they are."""

import functools

import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.layers import attach


def freeze(encoder, num_layers):
    """Keeps the embeddings and the lowest layers as they are in training; to be called before anything is traced.

    They are computed as ever, dropout included. Their variables are no longer `trainable_variables`, and the backward
    pass ends above them.

    Args:
      encoder: BertEncoder.
      num_layers: int, how many of the lowest layers; 0 for the embeddings alone.

    Raises:
      InputError: there are not so many, or a layer that is to be trained shares its weights with one of them.
    """
    if not 0 <= num_layers <= encoder.config.num_hidden_layers:
        raise InputError(f"`freeze_layers`={num_layers}: the model has {encoder.config.num_hidden_layers} layers")
    frozen, others = encoder.encoder_layers[:num_layers], encoder.encoder_layers[num_layers:]
    if any(layer is other for layer in frozen for other in others):
        raise InputError(f"`freeze_layers`={num_layers}: the model's layers share their weights; 0 freezes the "
                         "embeddings alone")
    attach(encoder, functools.partial(_stop_gradient, num_layers))
    for layer in (encoder.embeddings, *frozen):
        layer.trainable = False


def _stop_gradient(num_layers, number, layer, x, run):
    """A hook: no gradient goes below the lowest `num_layers` layers."""
    if num_layers == number == 0:
        x = tf.stop_gradient(x)
    output, attention = run(layer, x)
    return tf.stop_gradient(output) if number == num_layers - 1 else output, attention
