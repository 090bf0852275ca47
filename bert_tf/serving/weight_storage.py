"""Weights in a SavedModel: their storage types and their types in matrix multiplications.

They are stored unchanged, or in fewer bits and converted when the file is loaded: a file of half or
a quarter of the size is faster to download and load. (Casting the weights of BERT-Base at each
request would take longer than the computation for a sentence.) Matrix multiplications use float32,
or bfloat16 on CPUs and GPUs for which it is faster.
"""

import contextlib
import uuid

import tensorflow as tf

from bert_tf.fast import projection_weights, replace_weights
from bert_tf.techniques.int8 import split_weights


@contextlib.contextmanager
def use_stored_weights(model, storage_type, module):
    """Makes functions that are traced within a context use stored weights.

    The stored weights become attributes of `module`. For a model with the policy mixed_bfloat16,
    projections are then kept in bfloat16 and not cast at each request. The other weights stay
    float32: the time for short inputs is the time to read the projections.

    Args:
      model: Model of bert_tf.models; it is unchanged after the context.
      storage_type: str: float32, bfloat16, or int8. bfloat16 rounds to 8 bits of precision, int8
        to 255 steps between the extremes of each output of a kernel or row of embeddings. Only
        matrices are rounded: biases and normalization stay float32.
      module: tf.Module to save.
    """
    multiplied = {}
    if model.compute_dtype != "float32":
        dtype = tf.as_dtype(model.compute_dtype)
        multiplied = {weight.ref(): dtype for weight in projection_weights(model)}
    stored = {}
    for variable in model.variables:
        kept_as = (
            storage_type if variable.dtype == tf.float32 and variable.shape.rank == 2 else "float32"
        )
        dtype = multiplied.get(variable.ref(), tf.float32)
        if kept_as != dtype.name:
            stored[variable.ref()] = _StoredWeight(variable, kept_as, dtype)
        elif dtype != tf.float32:
            value = tf.cast(variable.read_value(), dtype)
            stored[variable.ref()] = tf.Variable(value, trainable=False)
    module.stored = list(stored.values())
    # Resources do not track their own variables.
    module.stored_values = [
        (weight.values, weight.scale)
        for weight in module.stored
        if isinstance(weight, _StoredWeight)
    ]
    module.weights = [variable for variable in model.variables if variable.ref() not in stored]
    with replace_weights(model, stored):
        yield


class _StoredWeight(tf.saved_model.experimental.TrackableResource):
    """A float32 variable that is stored as `storage_type`, and converted to `dtype` on loading.

    The conversion happens when the SavedModel is loaded, in the initializer of the resource, which
    Python's loader and TensorFlow Serving run. The weight replaces the original
    tf.Variable wherever a layer reads one. It has no function that frees it: TensorFlow would call
    that after the loaded object is deleted, although its signatures could still be in use.
    """

    def __init__(self, variable, storage_type, dtype):
        super().__init__()
        self._shape = variable.shape
        self._dtype = dtype
        self._unique_name = f"{variable.name}_{uuid.uuid4().hex}"
        value = tf.cast(variable.read_value(), tf.float32)
        scale = tf.constant(1.0)
        if storage_type == "int8":
            # One scale per output: kernels are [inputs, outputs], embeddings and heads are [rows or
            # classes, H].
            is_kernel = variable.name.split("/")[-1].startswith("kernel")
            value, scale = split_weights(value, axis=0 if is_kernel else 1)
        self.values = tf.Variable(tf.cast(value, storage_type), trainable=False)
        self.scale = tf.Variable(scale, trainable=False)

    def _create_resource(self):
        return tf.raw_ops.VarHandleOp(
            dtype=self._dtype, shape=self._shape, shared_name=self._unique_name
        )

    def _initialize(self):
        value = tf.cast(tf.cast(self.values, tf.float32) * self.scale, self._dtype)
        tf.raw_ops.AssignVariableOp(resource=self.resource_handle, value=value)

    def read(self):
        """Returns a tensor of the dtype for reading, with the shape of the variable."""
        value = tf.raw_ops.ReadVariableOp(resource=self.resource_handle, dtype=self._dtype)
        return tf.ensure_shape(value, self._shape)

    def __getitem__(self, index):
        return self.read()[index]

    @property
    def shape(self):
        return self._shape


tf.register_tensor_conversion_function(
    _StoredWeight, lambda value, dtype=None, name=None, as_ref=False: value.read()
)
