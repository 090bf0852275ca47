"""TensorFlow checkpoints: those of the original, and any others as a source of tensors.

The original stores tensors by variable name, such as
`bert/encoder/layer_0/attention/self/query/kernel`; tf.train.Checkpoint, under their paths of Python
attributes. Its files also contain a graph of the saved objects with the name of each variable.
"""

import contextlib
import os

import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import trackable_object_graph_pb2

from bert_tf.checkpoints.tensors import Checkpoint, StoredTensor, check_weights
from bert_tf.errors import InputError
from bert_tf.files import check_no_pattern, new_files
from bert_tf.model_folder.configs import ORIGINAL_NAME as CONFIG_NAME

KIND = "TF1 checkpoint"
OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
# In keys of Keras's older and its newer optimizers.
OPTIMIZER_STATE = ("/.OPTIMIZER_SLOT/", "/_variables/")
OPTIMIZER_SUFFIXES = ("/adam_m", "/adam_v")  # Slots of the original's AdamWeightDecayOptimizer.
GLOBAL_STEP = "global_step"
CHECKPOINT_NAME = "bert_model.ckpt"  # The prefix in the original's published archives.


class TensorFlowFile:
    """The tensors of a TensorFlow checkpoint, with any kind of names.

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


def read(file):
    """Reads a TensorFlowFile of the original or of `write`, without optimizer slots."""
    tensors = {
        name: file.tensor(name)
        for name in file
        if name != GLOBAL_STEP and not name.endswith(OPTIMIZER_SUFFIXES)
    }
    return Checkpoint(file.prefix, KIND, tensors)


def write(folder, tensors, config):
    """Writes `bert_model.ckpt` and `bert_config.json`, as in the original's archives.

    The checkpoint has no optimizer slots.

    `tf.train.load_checkpoint` and the Saver of TensorFlow 1 can read it.

    Args:
      folder: Output directory; created if it does not exist. Existing files with these names are
        overwritten.
      tensors: Dict of canonical name to StoredTensor. All are in memory at the same time, once.
      config: BertConfig of the model.

    Returns:
      Tuple of str. Sorted names of tensors that the format does not support: empty.
    """
    names = sorted(tensors)
    # tf.constant would also keep the NumPy array.
    values = [tf.identity(tensors[name].read()) for name in names]
    with new_files(folder) as unfinished:
        tf.raw_ops.SaveV2(
            prefix=os.path.join(unfinished, CHECKPOINT_NAME),
            tensor_names=names,
            shape_and_slices=[""] * len(names),
            tensors=values,
        )
        write_config(unfinished, config)
    return ()


def write_config(folder, config):
    """Writes `bert_config.json` to a directory."""
    with open(os.path.join(folder, CONFIG_NAME), "w", encoding="utf-8") as file:
        file.write(config.to_json())
