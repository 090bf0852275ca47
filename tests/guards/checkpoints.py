"""What the checkpoints of a run hold: their tensors, the digest, a summary, and the object graphs."""

import hashlib
import re

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import trackable_object_graph_pb2

GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
NUMBER = re.compile(r"/_variables/\d+$")


def prefixes(folder):
    """The prefixes of all checkpoints in a folder and those in it: dict of "" or "best/ckpt-2/" -> pathlib.Path.

    That of a run's last step has no name: it is the only one that the run leaves in its output directory.
    """
    paths = sorted(path.with_suffix("") for path in folder.rglob("*.index"))
    return {"" if path.parent == folder else f"{path.relative_to(folder)}/": path for path in paths}


def read(folder):
    """Reads all checkpoints in a folder: dict of object-graph key -> array, in the order of the keys."""
    found = {}
    for name, path in prefixes(folder).items():
        reader = tf.train.load_checkpoint(str(path))
        found |= {name + key: reader.get_tensor(key) for key in reader.get_variable_to_shape_map() if key != GRAPH}
    return dict(sorted(found.items()))


def digest(array):
    """The SHA-256 of a tensor: its type, its shape and its bytes."""
    header = f"{array.dtype} {list(array.shape)} ".encode()
    return hashlib.sha256(header + np.ascontiguousarray(array).tobytes()).hexdigest()


def digest_of_all(tensors):
    """The SHA-256 of all tensors with their keys, in the order of the keys."""
    return hashlib.sha256("".join(f"{key} {digest(tensors[key])}\n" for key in sorted(tensors)).encode()).hexdigest()


def summary(tensors):
    """Numbers that another machine computes too, but for rounding, in float64.

    Returns:
      dict: "weights", the L2 norm of the model's; "others", that of all other floating-point tensors (the optimizer's
      moments, adapters' too); "checksum", the sum of all floating-point numbers, each times the cosine of its place
      among all.
    """
    floats = {key: np.ravel(value).astype(np.float64) for key, value in sorted(tensors.items())
              if np.issubdtype(value.dtype, np.floating)}
    weights = {key for key in floats if key.startswith("model/") and ".OPTIMIZER_SLOT" not in key}
    numbers = np.concatenate(list(floats.values()))
    return {"weights": norm(value for key, value in floats.items() if key in weights),
            "others": norm(value for key, value in floats.items() if key not in weights),
            "checksum": float(numbers @ np.cos(np.arange(numbers.size)))}


def norm(arrays):
    return float(np.sqrt(sum(np.sum(value ** 2) for value in arrays)))


def object_graphs(folder):
    """The lines "key | name of the variable | shape | type" of all checkpoints in a folder."""
    return [name + line for name, path in prefixes(folder).items()
            for line in lines_of(tf.train.load_checkpoint(str(path)))]


def lines_of(reader):
    """The lines of a checkpoint; of TensorFlow's first version, whose keys are the names, without names.

    The optimizer's variables, whose keys are consecutive numbers, come in the order of these, without them.
    """
    shapes, types = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    names = {}
    if GRAPH in shapes:
        graph = trackable_object_graph_pb2.TrackableObjectGraph.FromString(reader.get_tensor(GRAPH))
        names = {attribute.checkpoint_key: attribute.full_name for node in graph.nodes for attribute in node.attributes}
    lines = []
    for key in sorted(shapes.keys() - {GRAPH}, key=_with_numbers):
        path = NUMBER.sub("/_variables", key.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE"))
        lines.append(f"{path} | {names.get(key, '')} | {shapes[key]} | {types[key].name}")
    return lines


def _with_numbers(key):
    return [(part.isdecimal(), int(part) if part.isdecimal() else part) for part in key.split("/")]
