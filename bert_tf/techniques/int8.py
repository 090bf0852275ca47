"""Fake quantisation: a model computes in float32 with the values that its int8 LiteRT file will compute with.

The file holds a matrix of at least LEAST_ELEMENTS elements in int8, with a scale for each output (of a table: for each
row), -127 to 127 for the largest size there. What it is multiplied with becomes int8 on the way, each row by itself,
over the range from its least to its largest value, 0 included ("dynamic range"). Smaller matrices, biases,
normalisation and what attention computes between the projections stay float32.

In training the gradient passes rounding as if it were not there (straight-through; Jacob et al. 2018).

Shape legend: T rows, K inputs of a product, M outputs.
"""

import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.layers import Embeddings, Hook, LinearHead, Projection, attach, detach

LEAST_ELEMENTS = 1024  # of LiteRT's converter: matrices with fewer stay float32
WEIGHT_STEPS = 127.0
LEAST_INPUT, MOST_INPUT = -128.0, 127.0
LAYERS = (Projection, Embeddings, LinearHead)


class FakeQuantization(Hook):
    """A hook that has a layer compute with the values of int8.

    Args:
      is_on: function without arguments that gives a bool scalar, asked at each use; None for always on. While it is
        False values are what they are without.
      norm: LayerNorm that the inputs of a product come out of, or None. The converter takes its shift, `beta`, out of
        the inputs and adds it times the matrix to the bias, in float32.
    """

    def __init__(self, is_on=None, norm=None):
        self._is_on = is_on
        self._norm = norm

    def after(self, norm):
        """The same for a product whose inputs come out of a LayerNorm."""
        return FakeQuantization(self._is_on, norm)

    def product(self, x, kernel, multiply):
        """See Hook."""
        if not _is_quantized(kernel):
            return multiply(x, kernel)
        quantized = self._passing(kernel, lambda value: quantized_weights(value, axis=0))
        if self._norm is None:
            return multiply(self._passing(x, quantized_rows), quantized)
        shift = tf.cast(self._norm.beta, x.dtype)[tf.newaxis]
        if self._is_on is not None:
            shift = tf.where(self._is_on(), shift, tf.zeros([], shift.dtype))
        return multiply(self._passing(x - shift, quantized_rows), quantized) + multiply(shift, kernel)

    def rows(self, rows, table):
        """See Hook."""
        if not _is_quantized(table):
            return rows
        return self._passing(rows, lambda value: quantized_weights(value, axis=-1))

    def _passing(self, value, quantized):
        """quantized(value), with the gradient of `value`."""
        value = tf.convert_to_tensor(value)
        exact = tf.cast(tf.stop_gradient(value), tf.float32)
        error = tf.cast(quantized(exact) - exact, value.dtype)
        if self._is_on is not None:
            error = tf.where(self._is_on(), error, tf.zeros([], error.dtype))
        return value + error


def quantized_weights(weights, axis):
    """float32 weights -> the values that they have in int8; one scale along the inputs, `axis`, for each output."""
    scale = tf.reduce_max(tf.abs(weights), axis=axis, keepdims=True) / WEIGHT_STEPS
    return tf.round(tf.math.divide_no_nan(weights, scale)) * scale


def quantized_rows(x):
    """x float32 [T, K] -> the values that it has in int8, each row over its own range.

    As XNNPACK computes them (`xnn_f32_qd8_asymmetric_quantization_params`): the zero point is counted from that end of
    the range which is the nearer to a whole number of steps.
    """
    least = tf.minimum(tf.reduce_min(x, axis=-1, keepdims=True), 0.0)
    most = tf.maximum(tf.reduce_max(x, axis=-1, keepdims=True), 0.0)
    steps = tf.where(least == most, 1.0, tf.math.divide_no_nan(MOST_INPUT - LEAST_INPUT, most - least))
    from_least, from_most = LEAST_INPUT + least * steps, MOST_INPUT + most * steps
    zero = tf.where(from_least + from_most > 0, LEAST_INPUT - least * steps, MOST_INPUT - most * steps)
    zero = tf.round(tf.clip_by_value(zero, LEAST_INPUT, MOST_INPUT))
    values = tf.clip_by_value(tf.round(x * steps) + zero, LEAST_INPUT, MOST_INPUT)
    return (values - zero) / steps


def quantizable(model):
    """The layers of a model of bert_tf.models that may have a FakeQuantization: dict of name -> layer.

    Names are those of the scopes of their variables, as `bert/encoder/layer_0/attention/self/qkv`.
    """
    found = {}
    for layer in model.submodules:
        if isinstance(layer, LAYERS):
            weight = next(weight for weight in layer.weights if weight.shape.rank == 2)
            name = weight.name.partition(":")[0]
            found[name.removesuffix("/kernel")] = layer
    return found


def quantize(model, quantization, only=None):
    """Has a model compute by a FakeQuantization from now on; None for as before.

    Args:
      model: of bert_tf.models, before a function of it is traced.
      quantization: FakeQuantization, or None.
      only: names of `quantizable` layers; None for all.

    Raises:
      InputError: the layers of the model share their weights, or compute attention for TPUs.
    """
    norms = _norms_before(getattr(model, "encoder", model))
    for name, layer in quantizable(model).items():
        if only is None or name in only:
            for hook in [hook for hook in layer.hooks if isinstance(hook, FakeQuantization)]:
                detach(layer, hook)
            if quantization:
                norm = norms.get(layer)
                attach(layer, quantization.after(norm) if norm else quantization)


def _norms_before(encoder):
    """The LayerNorm that the inputs of a projection of an encoder come out of: dict of layer -> layer."""
    if encoder.config.num_hidden_groups:
        raise InputError(f"num_hidden_groups is {encoder.config.num_hidden_groups}: layers that share their weights "
                         "cannot be trained for int8")
    norms, before = {}, encoder.embeddings.layer_norm
    for layer in encoder.encoder_layers:
        if layer.arithmetic.needs_kernels:
            raise InputError("attention that is computed for TPUs cannot be trained for int8")
        norms |= {layer.attention.qkv: before, layer.intermediate: layer.attention_norm}
        before = layer.output_norm
    return norms


def _is_quantized(matrix):
    return matrix.shape.num_elements() >= LEAST_ELEMENTS
