"""TensorFlow checkpoints: those of the original, and any others as a source of tensors.

The original stores tensors by variable name, such as
`bert/encoder/layer_0/attention/self/query/kernel`; tf.train.Checkpoint, under their paths of Python
attributes. Its files also contain a graph of the saved objects with the name of each variable.
"""

import contextlib

import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import trackable_object_graph_pb2

from bert_tf.checkpoints.tensors import StoredTensor, check_weights
from bert_tf.errors import InputError
from bert_tf.files import check_no_pattern

OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
# In keys of Keras's older and its newer optimizers.
OPTIMIZER_STATE = ("/.OPTIMIZER_SLOT/", "/_variables/")


class TensorFlowFile:
    """The tensors of a TensorFlow checkpoint, with any names.

    Raises:
      InputError: If a file is corrupted or incomplete, also when a tensor is read, with the prefix.

    Attributes:
      prefix: str. Common prefix of its files.
      variable_names: Dict of key to variable name, without optimizer state; {} if the keys are the
        variable names.
    """

    def __init__(self, prefix):
        self.prefix = prefix
        check_no_pattern(prefix)
        with self._explain_errors():
            self._reader = tf.compat.v1.train.NewCheckpointReader(prefix)
            self._shapes = self._reader.get_variable_to_shape_map()
            self._types = self._reader.get_variable_to_dtype_map()
        self.variable_names = self._read_variable_names() if OBJECT_GRAPH in self._shapes else {}

    def __iter__(self):
        return iter(self._shapes)

    def _read(self, key):
        with self._explain_errors():
            return self._reader.get_tensor(key)

    def tensor(self, key):
        """Returns a numeric tensor as StoredTensor; raises InputError if this key has none."""
        if key not in self._shapes:
            raise InputError(
                f"{self.prefix}: the checkpoint cannot be read: it lists {key}, but does not "
                "contain it"
            )
        if self._types[key] == tf.string:
            raise InputError(
                f"{self.prefix}: {key} contains text in the checkpoint; a model requires numbers"
            )
        return StoredTensor(
            list(self._shapes[key]), lambda: check_weights(self.prefix, key, self._read(key))
        )

    def _read_variable_names(self):
        graph = trackable_object_graph_pb2.TrackableObjectGraph()
        try:
            graph.ParseFromString(self._read(OBJECT_GRAPH))
        except (DecodeError, TypeError) as error:  # TypeError: it is a numeric tensor
            raise InputError(
                f"{self.prefix}: the checkpoint cannot be read: its {OBJECT_GRAPH} is corrupted"
            ) from error
        return {
            attribute.checkpoint_key: attribute.full_name
            for node in graph.nodes
            for attribute in node.attributes
            if attribute.full_name
            and not any(part in attribute.checkpoint_key for part in OPTIMIZER_STATE)
        }

    @contextlib.contextmanager
    def _explain_errors(self):
        try:
            yield
        except (tf.errors.OpError, IndexError) as error:  # IndexError is raised for truncated files
            reason = getattr(error, "message", str(error))
            raise InputError(f"{self.prefix}: the checkpoint cannot be read: {reason}") from error


def write_tensors(prefix, tensors):
    """Writes a checkpoint with variable names, as TensorFlow 1 does.

    Args:
      prefix: str. Local path.
      tensors: Dict of name to StoredTensor. All are in memory at the same time, once.
    """
    names = sorted(tensors)
    # tf.constant would also keep the NumPy array.
    values = [tf.identity(tensors[name].read()) for name in names]
    tf.raw_ops.SaveV2(
        prefix=prefix,
        tensor_names=names,
        shape_and_slices=[""] * len(names),
        tensors=values,
    )
