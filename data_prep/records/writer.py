"""Batches of numbers -> records in a TFRecord file, composed and framed without TensorFlow."""

import hashlib
import os

import numpy as np

from bert_tf.errors import InputError
from bert_tf.files import new_file
from data_prep.records import compiled_frames, tfrecord_format


class RecordWriter:
    """Writes records to a TFRecord file that appears under its name only when it is whole.

    A context manager: leaving it by an exception removes what was written. `path` may be any that TensorFlow
    can write to (gs://...).

        with RecordWriter(path, classification_features(128)) as writer:
            writer.write(columns)

    `is_compiled`: whether a compiled function composes the records, to the same bytes; numba must be there.

    Attributes:
      path: name of the file.
      features: tuple of Feature.
      num_records, num_bytes: written so far.
      sha256: of the bytes written so far, a hashlib object.

    Raises:
      OSError: when made or left, naming the file, when it cannot be written.
    """

    def __init__(self, path, features, is_compiled=False):
        self.path = os.fspath(path)
        self.features = tuple(features)
        self.num_records = self.num_bytes = 0
        self.sha256 = hashlib.sha256()
        self._is_compiled = is_compiled
        self._new_file = new_file(self.path, "wb")
        self._file = self._new_file.__enter__()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return self._new_file.__exit__(*exception)

    def write(self, columns):
        """Writes a batch of records. `columns`: dict of feature name -> [B, length] array of numbers."""
        self._append(frames(columns, self.features, self._is_compiled), len(columns[self.features[0].name]))

    def write_serialized(self, records):
        """Writes records that `serialize` made, a list of bytes objects."""
        self._append(tfrecord_format.frames(records), len(records))

    def _append(self, data, num_records):
        self._file.write(data)
        self.sha256.update(data)
        self.num_bytes += len(data)
        self.num_records += num_records


def frames(columns, features, is_compiled=False):
    """The bytes that stand for a batch of records in a TFRecord file, bytes or a memoryview.

    Arguments and errors are those of `serialize`; `is_compiled` is RecordWriter's.
    """
    if not is_compiled:
        return tfrecord_format.frames(serialize(columns, features))
    _check_columns(columns, features)
    return compiled_frames.frames(columns, features)


def serialize(columns, features):
    """Serializes a batch of records, each as `tf.train.Example.SerializeToString` of the same numbers could.

    The bytes are composed here because building protobuf messages number by number took longer than
    everything else about a pre-training record.

    Args:
      columns: dict of feature name -> [B, length] array; numbers of an int64 feature may not be negative.
      features: sequence of Feature.

    Returns:
      list of B bytes objects.

    Raises:
      InputError: columns that are not those of `features`, a wrong shape, a negative number.
    """
    _check_columns(columns, features)
    parts = []
    for feature in features:
        values = np.asarray(columns[feature.name])
        numbers = _packed_floats(values) if feature.is_float else _packed_varints(values)
        headers = {size: _feature_header(feature, size) for size in set(map(len, numbers))}
        parts += [headers[len(row)] for row in numbers], numbers
    bodies = map(b"".join, zip(*parts, strict=True))
    return [_length_delimited(EXAMPLE_FEATURES, len(body)) + body for body in bodies]


def _check_columns(columns, features):
    if set(columns) != {feature.name for feature in features}:
        raise InputError(f"got the features {sorted(columns)}: the record has "
                         f"{sorted(feature.name for feature in features)}")
    for feature in features:
        values = np.asarray(columns[feature.name])
        if values.ndim != 2 or values.shape[1] != feature.length:
            raise InputError(f"{feature.name} has shape {list(values.shape)}: it must be "
                             f"[batch, {feature.length}]")
        if not feature.is_float and values.size and values.min() < 0:
            raise InputError(f"{feature.name} holds {values.min()}: a record's numbers are not negative")


# Field numbers of tensorflow/core/example/example.proto and feature.proto.
EXAMPLE_FEATURES = 1  # Example.features
FEATURES_ENTRY = 1  # Features.feature, a map: an entry is a message of key and value
ENTRY_KEY, ENTRY_VALUE = 1, 2
FEATURE_FLOATS, FEATURE_INTS = 2, 3  # Feature.float_list, Feature.int64_list
LIST_VALUE = 1  # FloatList.value, Int64List.value, both packed


def _feature_header(feature, num_bytes):
    """All bytes of a feature's entry that come before its `num_bytes` bytes of packed numbers."""
    name = feature.name.encode()
    header = b""
    for field in (LIST_VALUE, FEATURE_FLOATS if feature.is_float else FEATURE_INTS, ENTRY_VALUE):
        header = _length_delimited(field, num_bytes + len(header)) + header
    header = _length_delimited(ENTRY_KEY, len(name)) + name + header
    return _length_delimited(FEATURES_ENTRY, num_bytes + len(header)) + header


def _length_delimited(field, num_bytes):
    """Tag and length that stand before a field of `num_bytes` bytes (wire type 2)."""
    tag_and_length = bytearray([field << 3 | 2])
    while num_bytes > 127:
        tag_and_length.append(num_bytes & 127 | 128)
        num_bytes >>= 7
    tag_and_length.append(num_bytes)
    return bytes(tag_and_length)


def _packed_floats(values):
    data = np.ascontiguousarray(values, "<f4").tobytes()
    return _rows(data, np.full(len(values), 4 * values.shape[1]))


def _packed_varints(values):
    """Rows of `values` [B, N] in base 128: 7 bits a byte, lowest first, bit 7 set where another follows."""
    largest = int(values.max(initial=0))
    if largest < 128:
        return _rows(values.astype(np.uint8).tobytes(), np.full(len(values), values.shape[1]))
    rest = values.astype(np.min_scalar_type(largest))  # the narrowest type: several times faster than int64
    most_bytes = -(-largest.bit_length() // 7)
    data = np.empty((*values.shape, most_bytes), np.uint8)
    is_used = np.ones(data.shape, bool)
    for place in range(data.shape[-1]):
        data[..., place] = rest & 127
        rest = rest >> 7
        continues = rest > 0
        data[..., place] |= continues.view(np.uint8) << 7
        is_used[..., place + 1:] &= continues[..., np.newaxis]
    return _rows(data[is_used].tobytes(), is_used.sum(axis=(1, 2)))


def _rows(data, lengths):
    """Cuts `data` into rows of `lengths` [B] bytes."""
    stops = np.cumsum(lengths).tolist()
    return [data[start:stop] for start, stop in zip([0, *stops], stops, strict=False)]
