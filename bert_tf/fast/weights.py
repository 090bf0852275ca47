"""A model's projections in the dtype that they are multiplied in.

Under mixed precision, Keras casts a kernel each time it is used. For one sentence on a CPU, this
takes longer than the product. So a model that answers many requests has them cast once. Training
does not: kernels that are cast once for several micro-batches hide the gradients of recomputed
layers.
"""

import contextlib

import tensorflow as tf

from bert_tf.layers.basic import Projection


def projection_weights(model):
    """Returns the kernels and biases of a model's projections, a list of tf.Variable."""
    return [
        weight
        for layer in model.submodules
        if isinstance(layer, Projection)
        for weight in (layer.kernel, layer.bias)
    ]


@contextlib.contextmanager
def replace_weights(model, replacements):
    """Makes a model's layers read other values than their variables in a context.

    Functions traced in it keep these.

    Args:
      model: Model of bert_tf.models; it is unchanged after the context.
      replacements: Dict of the `ref()` of a variable to its replacement, which converts to a
        tensor.
    """
    attributes = [
        (layer, name, value)
        for layer in (model, *model.submodules)
        for name, value in vars(layer).items()
        if isinstance(value, tf.Variable) and value.ref() in replacements
    ]
    try:
        for layer, name, variable in attributes:
            # Bypasses Keras, which would track it as a new weight.
            vars(layer)[name] = replacements[variable.ref()]
        yield
    finally:
        for layer, name, variable in attributes:
            vars(layer)[name] = variable


class CastWeights:
    """The weights of a model's projections, kept in its compute dtype for many calls.

    Args:
      model: Model of bert_tf.models with a mixed-precision policy.
    """

    def __init__(self, model):
        self._model = model
        self._casts = {
            variable.ref(): tf.Variable(
                tf.zeros(variable.shape, model.compute_dtype), trainable=False
            )
            for variable in projection_weights(model)
        }

    def refresh(self):
        """Casts the current weights."""
        for variable, cast in self._casts.items():
            cast.assign(tf.cast(variable.deref(), cast.dtype))

    def apply(self):
        """Makes functions that are traced in a context use the weights of the last `refresh`."""
        return replace_weights(self._model, self._casts)
