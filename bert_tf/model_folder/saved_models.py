"""Encoders of TF Hub and Kaggle Models: the shapes of the variables in a saved_model.pb.

TF Hub and Kaggle Models have encoders of tf-models-official as SavedModels, which its `export_tfhub_lib` writes. They
contain no config: the shapes of the variables show the sizes.

Does not import TensorFlow, which takes seconds, except for the casing. The message types of the file are in the
TensorFlow package, so this module walks the protocol buffer itself. See
https://protobuf.dev/programming-guides/encoding.
"""

import os

from bert_tf import files
from bert_tf.errors import InputError

SAVED_MODEL_NAME = "saved_model.pb"
VARIABLES_FOLDER = "variables"
VARIABLES_NAME = os.path.join(VARIABLES_FOLDER, "variables")  # Prefix of a checkpoint in the directory.
VOCABULARY_PATH = os.path.join("assets", "vocab.txt")
CASING = "do_lower_case/.ATTRIBUTES/VARIABLE_VALUE"  # Key of the casing in that checkpoint.

WORDS = "word_embeddings/embeddings"  # Name of a variable of each encoder of tf-models-official.
LAYER = "transformer/layer_{}/{}/kernel"

# Field numbers in saved_model.proto, meta_graph.proto, saved_object_graph.proto, and tensor_shape.proto
_META_GRAPHS = 2  # of SavedModel
_OBJECTS = 7  # of MetaGraphDef, a SavedObjectGraph
_NODES = 1  # of SavedObjectGraph
_VARIABLE = 7  # of SavedObject
_SHAPE, _NAME = 2, 6  # of SavedVariable
_DIMENSIONS, _SIZE = 2, 1  # of TensorShapeProto and its Dim

# Wire types.
_VARINT, _EIGHT_BYTES, _SIZED, _FOUR_BYTES = 0, 1, 2, 5
_LONGEST_VARINT = 10  # Bytes.


def read_variables(path):
    """Reads the variables of a SavedModel.

    Args:
      path: str. A saved_model.pb.

    Returns:
      Dict of name -> shape, a list of int; {} if the file does not exist or is damaged.
    """
    variables = {}
    try:
        content = memoryview(files.read_bytes(path)) if files.is_file(path) else b""
        for graph in _find(content, _META_GRAPHS):
            for node in (node for objects in _find(graph, _OBJECTS) for node in _find(objects, _NODES)):
                for variable in _find(node, _VARIABLE):
                    name = "".join(str(each, "utf-8") for each in _find(variable, _NAME))
                    variables[name] = [sum(_find(dimension, _SIZE, _VARINT)) for shape in _find(variable, _SHAPE)
                                       for dimension in _find(shape, _DIMENSIONS)]
    except ValueError:
        return {}
    return variables


def is_encoder(folder):
    """Returns whether a directory is the SavedModel of an encoder of tf-models-official, not one of these scripts."""
    return files.is_file(os.path.join(folder, SAVED_MODEL_NAME)) and WORDS in read_variables(
        os.path.join(folder, SAVED_MODEL_NAME))


def read_sizes(path):
    """Reads the sizes of an encoder of tf-models-official, a dict of fields of BertConfig, from its saved_model.pb.

    Raises:
      InputError: If it is another model than a BERT, with the path.
    """
    shapes = read_variables(path)
    query, inner = LAYER.format(0, "self_attention/query"), LAYER.format(0, "intermediate")
    missing = [name for name in (WORDS, "position_embedding/embeddings", "type_embeddings/embeddings", query, inner)
               if name not in shapes]
    if missing or shapes[WORDS][-1] != shapes[query][0]:
        reason = f"has no variable {missing[0]}" if missing else "has factorized word embeddings"
        raise InputError(f"{path}: {reason}; only SavedModels of BERT encoders of tf-models-official are supported")
    width, heads, _ = shapes[query]
    return {"vocab_size": shapes[WORDS][0], "hidden_size": width, "num_attention_heads": heads,
            "num_hidden_layers": sum(LAYER.format(number, "intermediate") in shapes for number in range(len(shapes))),
            "intermediate_size": shapes[inner][1],
            "max_position_embeddings": shapes["position_embedding/embeddings"][0],
            "type_vocab_size": shapes["type_embeddings/embeddings"][0]}


def read_casing(path):
    """Reads whether an encoder lowercases, from its variable do_lower_case; None if it has none.

    Args:
      path: str. Its saved_model.pb.
    """
    if not is_encoder(os.path.dirname(path)):
        return None
    import tensorflow as tf

    prefix = os.path.join(os.path.dirname(path), VARIABLES_NAME)
    plain = files.PlainPath(prefix)
    try:
        reader = tf.train.load_checkpoint(plain.path)
        return bool(reader.get_tensor(CASING)) if reader.has_tensor(CASING) else None
    except (tf.errors.OpError, IndexError) as error:  # IndexError is raised for truncated files
        raise InputError(f"{prefix}: the checkpoint cannot be read: {getattr(error, 'message', error)}") from error


def _find(message, number, wanted=_SIZED):
    """Yields the strings or messages with a field number, or integers if `wanted` is _VARINT.

    Raises:
      ValueError: If `message` is damaged.
    """
    position = 0
    while position < len(message):
        tag, position = _read_varint(message, position)
        wire_type = tag & 7
        if wire_type == _VARINT:
            value, position = _read_varint(message, position)
            if wanted == _VARINT and tag >> 3 == number:
                yield value
        elif wire_type == _SIZED:
            size, position = _read_varint(message, position)
            if wanted == _SIZED and tag >> 3 == number:
                yield message[position : position + size]
            position += size
        elif wire_type in (_EIGHT_BYTES, _FOUR_BYTES):
            position += 8 if wire_type == _EIGHT_BYTES else 4
        else:
            raise ValueError(f"unknown wire type {wire_type}")


def _read_varint(message, position):
    """Returns the integer at a position and the position after it."""
    value = 0
    for shift, byte in enumerate(message[position : position + _LONGEST_VARINT]):
        value |= (byte & 127) << (7 * shift)
        if byte < 128:
            return value, position + shift + 1
    raise ValueError("unfinished integer")
