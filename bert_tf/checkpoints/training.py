"""This project's training checkpoints (tf.train.Checkpoint), read by variable name for their weights alone."""

from tensorflow.core.protobuf import trackable_object_graph_pb2

from bert_tf.checkpoints import tf1

OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"  # where TensorFlow keeps the graph of saved objects

MODEL = "model/"  # the name under which the training loop saves the model, beside its optimizer
DROPOUT_STATE = "/dropout_generator/"  # BertEncoder's


def is_training_checkpoint(reader):
    """Whether a checkpoint was written by tf.train.Checkpoint."""
    return reader.has_tensor(OBJECT_GRAPH)


def read_tensors(reader):
    """The weights in a training checkpoint, without optimizer state: {variable name: StoredTensor}.

    TensorFlow stores the tensors under the path of Python attributes that leads to them, and beside it the
    name of each variable, which is what a checkpoint of this project is matched by.
    """
    graph = trackable_object_graph_pb2.TrackableObjectGraph()
    graph.ParseFromString(reader.get_tensor(OBJECT_GRAPH))
    shapes = reader.get_variable_to_shape_map()
    return {
        attribute.full_name: tf1.StoredTensor(shapes[attribute.checkpoint_key], reader, attribute.checkpoint_key)
        for node in graph.nodes for attribute in node.attributes
        if attribute.checkpoint_key.startswith(MODEL) and DROPOUT_STATE not in attribute.checkpoint_key
    }
