"""Weights in a SavedModel: as they are, or in fewer bits and turned into float32 when the file is loaded.

A file half or a quarter of the size downloads and loads that much sooner; the model then computes in float32, as fast
as the whole one. (Cast at each request, BERT-Base's weights would take longer than a sentence does.)
"""

import contextlib
import uuid

import tensorflow as tf

from bert_tf.errors import InputError

KINDS = ("float32", "bfloat16", "int8")


@contextlib.contextmanager
def attached(model, kind, module):
    """A context in which functions that are traced compute with stored weights; they become attributes of `module`.

    Args:
      model: a model of bert_tf.models; outside the context it is as before.
      kind: one of KINDS; bfloat16 rounds to 8 bits of precision, int8 to 255 steps between the extremes of each
        output of a kernel or row of a table. Matrices alone are rounded: biases and normalisation stay float32.
      module: tf.Module to be saved.

    Raises:
      InputError: another kind.
    """
    if kind not in KINDS:
        raise InputError(f"`weights`={kind}: it must be one of {', '.join(KINDS)}")
    if kind == "float32":
        module.weights = model.variables
        yield
        return
    stored, replaced = {}, []
    for layer in (model, *model.submodules):
        for name, value in vars(layer).items():
            if isinstance(value, tf.Variable) and value.dtype == tf.float32 and value.shape.rank == 2:
                if value.ref() not in stored:
                    stored[value.ref()] = _StoredMatrix(value, kind)
                replaced.append((layer, name, value, stored[value.ref()]))
    module.matrices = list(stored.values())
    module.stored_values = [matrix.variables for matrix in module.matrices]  # a resource does not track its own
    module.weights = [variable for variable in model.variables if variable.ref() not in stored]
    try:
        for layer, name, _, matrix in replaced:
            vars(layer)[name] = matrix  # past Keras, which would track it as a new weight
        yield
    finally:
        for layer, name, variable, _ in replaced:
            vars(layer)[name] = variable


class _StoredMatrix(tf.saved_model.experimental.TrackableResource):
    """A float32 variable that is made of few-bit values when the SavedModel that holds it is loaded.

    Stands for the tf.Variable it is made from wherever a layer reads one. It has no function that frees it:
    TensorFlow would call that once the loaded object is gone, though one of its signatures may still be in use.
    """

    def __init__(self, variable, kind):
        super().__init__()
        self._shape = variable.shape
        self._unique_name = f"{variable.name}_{uuid.uuid4().hex}"
        value = variable.read_value()
        if kind == "bfloat16":
            self.values, self.scale = tf.Variable(tf.cast(value, tf.bfloat16), trainable=False), None
        else:
            # One scale an output: kernels are [inputs, outputs], tables and heads [rows or classes, H].
            axis = 0 if variable.name.split("/")[-1].startswith("kernel") else 1
            scale = tf.maximum(tf.reduce_max(tf.abs(value), axis=axis, keepdims=True) / 127, 1e-30)
            self.values = tf.Variable(tf.cast(tf.round(value / scale), tf.int8), trainable=False)
            self.scale = tf.Variable(scale, trainable=False)

    def _create_resource(self):
        return tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=self._shape, shared_name=self._unique_name)

    def _initialize(self):
        value = tf.cast(self.values, tf.float32)
        tf.raw_ops.AssignVariableOp(resource=self.resource_handle,
                                    value=value if self.scale is None else value * self.scale)

    def read(self):
        """float32, the shape of the variable."""
        value = tf.raw_ops.ReadVariableOp(resource=self.resource_handle, dtype=tf.float32)
        return tf.ensure_shape(value, self._shape)

    @property
    def variables(self):
        """The variables that the file holds for it."""
        return [variable for variable in (self.values, self.scale) if variable is not None]

    def __getitem__(self, index):
        return self.read()[index]

    @property
    def shape(self):
        return self._shape


tf.register_tensor_conversion_function(_StoredMatrix, lambda value, dtype=None, name=None, as_ref=False: value.read())
