"""Removes duplicates from a .tflite file.

The converter shares the weights of its graphs, but not the scales of their rows: each graph has its own copy, over 1 MB
for BERT-Base.
"""

import hashlib

import flatbuffers
from ai_edge_litert import schema_py_generated as schema

_IDENTIFIER = b"TFL3"
_ALIGNMENT = 16  # Alignment of tensor values that the schema requires (force_align).


def share_vectors(content):
    """Returns the same graphs, with equal vectors stored once.

    Args:
      content: bytes of a .tflite file, without metadata at its end.

    Returns:
      bytes.
    """
    builder = _SharingBuilder(len(content) + 1024)
    builder.Finish(schema.ModelT.InitFromPackedBuf(content, 0).Pack(builder), _IDENTIFIER)
    return bytes(builder.Output())


class _SharingBuilder(flatbuffers.Builder):
    """Returns the offset of an existing equal vector instead of writing it again."""

    def __init__(self, size):
        super().__init__(size)
        self._offsets = {}

    def CreateNumpyVector(self, x):  # noqa: N802, a method of flatbuffers
        values = x.tobytes()
        key = (x.dtype.str, hashlib.sha256(values).digest())
        if key not in self._offsets:
            self.StartVector(x.itemsize, x.size, _ALIGNMENT)
            self.head = self.Head() - len(values)
            self.Bytes[self.Head() : self.Head() + len(values)] = values
            self.vectorNumElems = x.size
            self._offsets[key] = self.EndVector()
        return self._offsets[key]
