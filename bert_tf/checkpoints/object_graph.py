"""Names of variables in a checkpoint that tf.train.Checkpoint wrote.

Such a checkpoint stores tensors under their paths of Python attributes. It also contains a graph of the saved objects
with the name of each variable.
"""

from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import trackable_object_graph_pb2

from bert_tf.errors import InputError

OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
OPTIMIZER_STATE = ("/.OPTIMIZER_SLOT/", "/_variables/")  # In keys of Keras's older and its newer optimizers.


def variable_names(file):
    """Reads a dict of key in the TensorFlowFile to variable name, without optimizer state; {} for a name-based file.

    Raises:
      InputError: If the graph of objects is corrupted, with the path.
    """
    if OBJECT_GRAPH not in file:
        return {}
    graph = trackable_object_graph_pb2.TrackableObjectGraph()
    try:
        graph.ParseFromString(file.read(OBJECT_GRAPH))
    except (DecodeError, TypeError) as error:  # TypeError: it is a numeric tensor
        raise InputError(f"{file.prefix}: the checkpoint cannot be read: its {OBJECT_GRAPH} is corrupted") from error
    return {attribute.checkpoint_key: attribute.full_name
            for node in graph.nodes for attribute in node.attributes
            if attribute.full_name and not any(part in attribute.checkpoint_key for part in OPTIMIZER_STATE)}
