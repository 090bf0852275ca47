"""A .tflite file without what it holds several times.

The converter shares the weights of its graphs, but not the scales of their rows: each graph has its own copy, over a
megabyte for BERT-Base.
"""

import hashlib

import flatbuffers
from ai_edge_litert import schema_py_generated as schema

_IDENTIFIER = b"TFL3"
_ALIGNMENT = 16  # of tensors' values, which the schema asks for (force_align)


def share_vectors(content):
    """The same graphs, with equal vectors there once.

    Args:
      content: bytes of a .tflite file, without metadata at its end.

    Returns:
      bytes.
    """
    builder = _SharingBuilder(len(content) + 1024)
    builder.Finish(schema.ModelT.InitFromPackedBuf(content, 0).Pack(builder), _IDENTIFIER)
    return bytes(builder.Output())


class _SharingBuilder(flatbuffers.Builder):
    """Gives the place of a vector that is there already."""

    def __init__(self, size):
        super().__init__(size)
        self._places = {}

    def CreateNumpyVector(self, x):  # noqa: N802, a method of flatbuffers
        values = x.tobytes()
        key = (x.dtype.str, hashlib.sha256(values).digest())
        if key not in self._places:
            self.StartVector(x.itemsize, x.size, _ALIGNMENT)
            self.head = self.Head() - len(values)
            self.Bytes[self.Head() : self.Head() + len(values)] = values
            self.vectorNumElems = x.size
            self._places[key] = self.EndVector()
        return self._places[key]
