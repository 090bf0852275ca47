"""The names of variables in a checkpoint that tf.train.Checkpoint wrote.

Such a checkpoint stores tensors under the path of Python attributes that leads to them; beside them lies a graph of
the saved objects, which also says what each variable was called.
"""

from tensorflow.core.protobuf import trackable_object_graph_pb2

OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
OPTIMIZER_STATE = ("/.OPTIMIZER_SLOT/", "/_variables/")  # in keys: of Keras's older and its newer optimizers


def variable_names(file):
    """{key in the TensorFlowFile: name of the variable}, without an optimizer's moments; {} for a name-based file."""
    if OBJECT_GRAPH not in file:
        return {}
    graph = trackable_object_graph_pb2.TrackableObjectGraph()
    graph.ParseFromString(file.read(OBJECT_GRAPH))
    return {attribute.checkpoint_key: attribute.full_name
            for node in graph.nodes for attribute in node.attributes
            if attribute.full_name and not any(part in attribute.checkpoint_key for part in OPTIMIZER_STATE)}
