"""The names of variables in a checkpoint that tf.train.Checkpoint wrote.

Such a checkpoint stores tensors under the path of Python attributes that leads to them; beside them lies a graph of
the saved objects, which also says what each variable was called.
"""

from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import trackable_object_graph_pb2

from bert_tf.errors import InputError

OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
OPTIMIZER_STATE = ("/.OPTIMIZER_SLOT/", "/_variables/")  # in keys: of Keras's older and its newer optimizers


def variable_names(file):
    """{key in the TensorFlowFile: name of the variable}, without an optimizer's moments; {} for a name-based file.

    Raises:
      InputError: naming the file, for a graph of objects that is damaged.
    """
    if OBJECT_GRAPH not in file:
        return {}
    graph = trackable_object_graph_pb2.TrackableObjectGraph()
    try:
        graph.ParseFromString(file.read(OBJECT_GRAPH))
    except (DecodeError, TypeError) as error:  # TypeError: it is a tensor of numbers
        raise InputError(f"{file.prefix}: the checkpoint cannot be read: its {OBJECT_GRAPH} is damaged") from error
    return {attribute.checkpoint_key: attribute.full_name
            for node in graph.nodes for attribute in node.attributes
            if attribute.full_name and not any(part in attribute.checkpoint_key for part in OPTIMIZER_STATE)}
