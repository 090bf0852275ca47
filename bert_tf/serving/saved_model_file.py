"""Reads the signatures of a SavedModel from its saved_model.pb. Does not import TensorFlow, which takes seconds.

The message types of the file are in the TensorFlow package, so this module walks the protocol buffer itself. See
https://protobuf.dev/programming-guides/encoding.
"""

from bert_tf import files

# Field numbers in saved_model.proto, meta_graph.proto, and the entries of any map.
_META_GRAPHS = 2  # of SavedModel
_SIGNATURES = 5  # of MetaGraphDef; a map of names to SignatureDef
_INPUTS, _OUTPUTS = 1, 2  # of SignatureDef; maps of names to TensorInfo
_KEY, _VALUE = 1, 2

# Wire types.
_VARINT, _EIGHT_BYTES, _SIZED, _FOUR_BYTES = 0, 1, 2, 5
_LONGEST_VARINT = 10  # Bytes.


def read_signature(path, name="serving_default"):
    """Reads the names of a signature's inputs and outputs.

    Args:
      path: str. A saved_model.pb.
      name: str. Name of the signature.

    Returns:
      Tuple `(inputs, outputs)` of sets of str; None if the file does not have the signature, or is damaged.
    """
    try:
        for graph in _find(memoryview(files.read_bytes(path)), _META_GRAPHS):
            for entry in _find(graph, _SIGNATURES):
                if _read_key(entry) == name:
                    return tuple({_read_key(item) for signature in _find(entry, _VALUE)
                                  for item in _find(signature, number)} for number in (_INPUTS, _OUTPUTS))
    except ValueError:
        pass
    return None


def _read_key(entry):
    """Returns the key of an entry of a map with str keys."""
    return "".join(str(key, "utf-8") for key in _find(entry, _KEY))


def _find(message, number):
    """Yields the contents of the strings or messages with a field number; raises ValueError if `message` is damaged."""
    position = 0
    while position < len(message):
        tag, position = _read_varint(message, position)
        wire_type = tag & 7
        if wire_type == _VARINT:
            _, position = _read_varint(message, position)
        elif wire_type == _SIZED:
            size, position = _read_varint(message, position)
            if tag >> 3 == number:
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
