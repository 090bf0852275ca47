"""Fake quantization: a model computes in float32 with the values of its int8 LiteRT file.

The file stores a matrix of at least MIN_ELEMENTS elements in int8, with one scale per output (for
embeddings, per row), from -127 to 127 for the largest absolute value. The other operand of a
multiplication is quantized at run time, per row, over the range from its minimum to its maximum,
including 0 ("dynamic range"). Smaller matrices, biases, normalization, and the computations of
attention between the projections stay float32.

In training, the gradient ignores rounding (straight-through; Jacob et al. 2018).

Shape legend: T tokens, HI inputs of a matrix multiplication, HO outputs of a matrix
multiplication.
"""

import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.layers import Embeddings, LinearHead, Projection
from bert_tf.layers.hooks import Hook, attach, detach

MIN_ELEMENTS = 1024  # The limit of LiteRT's converter: smaller matrices stay float32.
WEIGHT_STEPS = 127.0
MIN_INPUT = -128.0
MAX_INPUT = 127.0
LAYERS = (Projection, Embeddings, LinearHead)


class FakeQuantization(Hook):
    """A hook with which a layer computes with int8 values.

    Args:
      is_on: Function without arguments -> bool scalar, called at each use; None for always on. If
        False, values are unchanged.
      norm: LayerNorm whose outputs are the inputs of the layer, or None. The converter removes its
        shift, `beta`, from the inputs and adds it times the matrix to the bias, in float32.
    """

    def __init__(self, is_on=None, norm=None):
        self.is_on = is_on
        self._norm = norm

    def product(self, x, kernel, multiply):
        """See Hook."""
        if not _is_quantized(kernel):
            return multiply(x, kernel)
        quantized = self._passing(kernel, lambda value: quantize_weights(value, axis=0))
        if self._norm is None:
            return multiply(self._passing(x, quantize_rows), quantized)
        shift = tf.cast(self._norm.beta, x.dtype)[tf.newaxis]
        if self.is_on is not None:
            shift = tf.where(self.is_on(), shift, tf.zeros([], shift.dtype))
        return multiply(self._passing(x - shift, quantize_rows), quantized) + multiply(
            shift, kernel
        )

    def rows(self, rows, table):
        """See Hook."""
        if not _is_quantized(table):
            return rows
        return self._passing(rows, lambda value: quantize_weights(value, axis=-1))

    def _passing(self, value, quantized):
        """Computes quantized(value), with the gradient of `value`."""
        value = tf.convert_to_tensor(value)
        exact = tf.cast(tf.stop_gradient(value), tf.float32)
        error = tf.cast(quantized(exact) - exact, value.dtype)
        if self.is_on is not None:
            error = tf.where(self.is_on(), error, tf.zeros([], error.dtype))
        return value + error


def quantize_weights(weights, axis):
    """Rounds float32 weights to products of int8 values and scales; see `split_weights`."""
    values, scales = split_weights(weights, axis)
    return values * scales


def split_weights(weights, axis):
    """Rounds weights to int8 values, with one scale for each output.

    Args:
      weights: float32 of rank 2.
      axis: int. Axis of the inputs.

    Returns:
      Tuple `(values, scales)`: float32 integers from -127 to 127 of the shape of `weights`, and
      float32 with size 1 in `axis`.
    """
    scales = tf.reduce_max(tf.abs(weights), axis=axis, keepdims=True) / WEIGHT_STEPS
    return tf.round(tf.math.divide_no_nan(weights, scales)), scales


def quantize_rows(x):
    """Rounds x float32 [T, HI] to its int8 values, each row over its own range.

    As in XNNPACK (`xnn_f32_qd8_asymmetric_quantization_params`), the zero point is computed from
    the end of the range that is closer to an integer number of steps.
    """
    lowest = tf.minimum(tf.reduce_min(x, axis=-1, keepdims=True), 0.0)
    highest = tf.maximum(tf.reduce_max(x, axis=-1, keepdims=True), 0.0)
    steps = tf.where(
        lowest == highest, 1.0, tf.math.divide_no_nan(MAX_INPUT - MIN_INPUT, highest - lowest)
    )
    from_lowest = MIN_INPUT + lowest * steps
    from_highest = MAX_INPUT + highest * steps
    zero = tf.where(
        from_lowest + from_highest > 0, MIN_INPUT - lowest * steps, MAX_INPUT - highest * steps
    )
    zero = tf.round(tf.clip_by_value(zero, MIN_INPUT, MAX_INPUT))
    values = tf.clip_by_value(tf.round(x * steps) + zero, MIN_INPUT, MAX_INPUT)
    return (values - zero) / steps


def quantizable(model):
    """Returns the layers of a model of bert_tf.models that can have a FakeQuantization.

    Returns:
      Dict of name -> layer. Names are the scopes of the layers' variables, for example
      `bert/encoder/layer_0/attention/self/qkv`.
    """
    layers = {}
    for layer in model.submodules:
        if isinstance(layer, LAYERS):
            weight = next(weight for weight in layer.weights if weight.shape.rank == 2)
            name = weight.name.partition(":")[0]
            layers[name.removesuffix("/kernel")] = layer
    return layers


def quantize(model, quantization, only=None):
    """Makes a model compute with a FakeQuantization, or without one.

    Call this before any function of the model is traced.

    Args:
      model: Model of bert_tf.models.
      quantization: FakeQuantization whose `is_on` applies to all layers, or None.
      only: Names of `quantizable` layers; None for all.

    Raises:
      InputError: If layers of the model share their weights, or if its embeddings are projected
        after LayerNorm.
    """
    norms = _norms_before(getattr(model, "encoder", model))
    for name, layer in quantizable(model).items():
        if only is None or name in only:
            for hook in [hook for hook in layer.hooks if isinstance(hook, FakeQuantization)]:
                detach(layer, hook)
            if quantization:
                attach(layer, FakeQuantization(quantization.is_on, norms.get(layer)))


def _norms_before(encoder):
    """Returns a dict of projection -> the LayerNorm whose outputs are its inputs.

    A matrix that several layers share has inputs from more than one.
    """
    if encoder.config.num_hidden_groups:
        raise InputError(
            f"num_hidden_groups is {encoder.config.num_hidden_groups}; layers that share weights "
            "cannot be trained for int8"
        )
    if encoder.config.project_embedding_sum:
        raise InputError(
            "project_embedding_sum is True; a model with this projection cannot be trained for int8"
        )
    norms = {}
    before = encoder.embeddings.layer_norm
    for layer in encoder.encoder_layers:
        norms |= {layer.attention.qkv: before, layer.intermediate: layer.attention_norm}
        before = layer.output_norm
    return norms


def _is_quantized(matrix):
    return matrix.shape.num_elements() >= MIN_ELEMENTS
