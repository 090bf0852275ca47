"""The checkpoints of a run: tensors, summaries, and object graphs."""

import re

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import trackable_object_graph_pb2

GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
NUMBER = re.compile(r"/_variables/\d+$")


def open_all(folder):
    """Opens all checkpoints below a directory: dict of name to reader.

    A name is a relative path, such as "best/ckpt-2/". The checkpoint of the last step has the
    name "". It is the only one that a run leaves in its output directory.
    """
    paths = sorted(path.with_suffix("") for path in folder.rglob("*.index"))
    return {
        "" if path.parent == folder else f"{path.relative_to(folder)}/": tf.train.load_checkpoint(
            str(path)
        )
        for path in paths
    }


def read(folder):
    """Reads all checkpoints below a directory: dict of object-graph key to array, sorted by key."""
    return dict(
        sorted(
            (name + key, reader.get_tensor(key))
            for name, reader in open_all(folder).items()
            for key in reader.get_variable_to_shape_map()
            if key != GRAPH
        )
    )


def summarize(tensors):
    """Computes numbers in float64 that are equal on all machines, except for rounding.

    Returns:
      Dict: "weights", the L2 norm of the model's weights; "others", the L2 norm of all other
      floating-point tensors, such as the optimizer state; "checksum", the sum of all floating-point
      numbers, each multiplied by the cosine of its 0-based position.
    """
    floats = {
        key: np.ravel(value).astype(np.float64)
        for key, value in sorted(tensors.items())
        if np.issubdtype(value.dtype, np.floating)
    }
    weights = {key for key in floats if key.startswith("model/") and ".OPTIMIZER_SLOT" not in key}
    numbers = np.concatenate(list(floats.values()))
    return {
        "weights": norm(value for key, value in floats.items() if key in weights),
        "others": norm(value for key, value in floats.items() if key not in weights),
        "checksum": float(numbers @ np.cos(np.arange(numbers.size))),
    }


def norm(arrays):
    return float(np.sqrt(sum(np.sum(value**2) for value in arrays)))


def list_variables(folder):
    """Lists the variables of all checkpoints below a directory.

    A line is "key | name of the variable | shape | dtype". A checkpoint of TensorFlow 1 has names
    as keys, and no other names. The keys of the optimizer's variables are consecutive numbers. The
    lines are in their order, without the numbers.
    """
    lines = []
    for checkpoint, reader in open_all(folder).items():
        shapes = reader.get_variable_to_shape_map()
        types = reader.get_variable_to_dtype_map()
        names = {}
        if GRAPH in shapes:
            graph = trackable_object_graph_pb2.TrackableObjectGraph.FromString(
                reader.get_tensor(GRAPH)
            )
            names = {
                attribute.checkpoint_key: attribute.full_name
                for node in graph.nodes
                for attribute in node.attributes
            }
        for key in sorted(shapes.keys() - {GRAPH}, key=_split_numbers):
            path = NUMBER.sub("/_variables", key.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE"))
            lines.append(
                f"{checkpoint}{path} | {names.get(key, '')} | {shapes[key]} | {types[key].name}"
            )
    return lines


def _split_numbers(key):
    return [(part.isdecimal(), int(part) if part.isdecimal() else part) for part in key.split("/")]
