"""Vectors of a LiteRT model, which its converter writes once per graph."""

import hashlib

import flatbuffers
from ai_edge_litert import schema_py_generated as schema

_IDENTIFIER = b"TFL3"
_ALIGNMENT = 16  # Alignment of tensor values that the schema requires (force_align).


def share_vectors(content):
    """Returns the bytes of a .tflite file in which equal vectors occur once.

    The converter shares the weights of its graphs, but not the scales of their rows: each graph has
    its own copy, over 1 MB for BERT-Base.
    """
    builder = _SharingBuilder(len(content) + 1024)
    builder.Finish(schema.ModelT.InitFromPackedBuf(content, 0).Pack(builder), _IDENTIFIER)
    return bytes(builder.Output())


class _SharingBuilder(flatbuffers.Builder):
    """A FlatBuffers builder that writes equal vectors only once."""

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
