"""A model's projections in the dtype that they are multiplied in.

Under mixed precision, Keras casts a kernel each time it is used. For one sentence on a CPU, this takes longer than the
product. So a model that answers many requests, or runs several micro-batches per step, has them cast once.
"""

import contextlib

import tensorflow as tf

from bert_tf.layers.basic import Projection


def projection_weights(model):
    """The kernels and biases of a model's projections, list of tf.Variable."""
    return [weight for layer in model.submodules if isinstance(layer, Projection)
            for weight in (layer.kernel, layer.bias)]


@contextlib.contextmanager
def replaced(model, replacements):
    """A context in which a model's layers read other values than their variables; functions traced in it keep those.

    Args:
      model: a model of bert_tf.models; outside the context it is as before.
      replacements: dict from the `ref()` of a variable to its replacement, which converts to a tensor.
    """
    found = [(layer, name, value) for layer in (model, *model.submodules) for name, value in vars(layer).items()
             if isinstance(value, tf.Variable) and value.ref() in replacements]
    try:
        for layer, name, variable in found:
            vars(layer)[name] = replacements[variable.ref()]  # past Keras, which would track it as a new weight
        yield
    finally:
        for layer, name, variable in found:
            vars(layer)[name] = variable


class CastWeights:
    """The weights of a model's projections, kept in its compute type for many calls.

    Args:
      model: a model of bert_tf.models under a policy of mixed precision.
    """

    def __init__(self, model):
        self._model = model
        self._variables = projection_weights(model)
        self._casts = [tf.Variable(tf.zeros(variable.shape, model.compute_dtype), trainable=False)
                       for variable in self._variables]

    def refresh(self):
        """Casts the weights as they now are."""
        for variable, cast in zip(self._variables, self._casts, strict=True):
            cast.assign(tf.cast(variable, cast.dtype))

    def in_use(self):
        """A context in which functions that are traced compute with the weights of the last `refresh`."""
        return replaced(self._model, {variable.ref(): cast for variable, cast in zip(
            self._variables, self._casts, strict=True)})
