"""Writer for TFRecord files from batches of numbers, in compiled code without TensorFlow.

A file is a sequence of frames. A frame is the record's length (8 bytes), the masked CRC-32C of
these 8 bytes, the record, and its masked CRC-32C (4 bytes each, all little-endian;
tensorflow/core/lib/io/record_writer.h). A record is a serialized tf.train.Example. Building
protobuf messages number by number takes longer than all other steps together.

Compiled functions cannot look up names, so the numbers of a batch are two arrays with the features
in order: the integers of a record in one row of the first, the bytes of its floats in one row of
the second.
"""

import functools
import hashlib
import os
import struct
from typing import NamedTuple

import numpy as np

from bert_tf.errors import InputError
from bert_tf.files import new_file
from data_prep.compilation import compile_function

HEADER = struct.Struct("<QI")
FOOTER = struct.Struct("<I")
# Per frame.
LENGTH_BYTES = 8
CHECKSUM_BYTES = 4
CRC_BYTES = 8  # Bytes processed per checksum step.
POLYNOMIAL = 0x82F63B78  # Castagnoli polynomial, bits reversed.
MASK_DELTA = 0xA282EAD8  # See tensorflow/core/lib/hash/crc32c.h.
# Tags from tensorflow/core/example/example.proto and feature.proto: field << 3 | 2, for a field
# with a length.
EXAMPLE_FEATURES = 0x0A
FEATURES_ENTRY = 0x0A
ENTRY_KEY = 0x0A
ENTRY_VALUE = 0x12
LIST_VALUE = 0x0A
FEATURE_FLOATS = 0x12
FEATURE_INTS = 0x1A
MAX_HEADER_BYTES = 64  # Per feature without its name, and per record.


class Numbers(NamedTuple):
    """The numbers of B records, with the features in order.

    Attributes:
      ints: int64 [B, number of integers of a record].
      float_bytes: uint8 [B, number of bytes of the floats of a record].
    """

    ints: np.ndarray
    float_bytes: np.ndarray


class Layout(NamedTuple):
    """The features of a record.

    Attributes:
      features: int64 [F, 4]. For each feature, 1 for floats or 0 for integers, its length, and the
        start and stop of its name in `names`.
      names: uint8 array. The names of all features.
    """

    features: np.ndarray
    names: np.ndarray


class RecordWriter:
    """Writes records to a TFRecord file that appears under its name only when it is complete.

    A context manager: if an exception leaves it, the partial file is removed. `path` may be any
    path that TensorFlow can write to (gs://...).

        with RecordWriter(path, classification_features(128)) as writer:
            writer.write(columns)

    Attributes:
      path: str. Path of the file.
      features: Tuple of Feature.
      num_records, num_bytes: int. Totals written to date.
      sha256: hashlib object. Digest of the bytes written to date.

    Raises:
      OSError: On construction or exit, if the file cannot be written. The message names the file.
    """

    def __init__(self, path, features):
        self.path = os.fspath(path)
        self.features = tuple(features)
        self.num_records = self.num_bytes = 0
        self.sha256 = hashlib.sha256()
        self._new_file = new_file(self.path, "wb")
        self._file = self._new_file.__enter__()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return self._new_file.__exit__(*exception)

    def write(self, columns):
        """Writes a batch of records; `columns`: dict of feature name to [B, length] array."""
        data = compose_frames(columns, self.features)
        self._file.write(data)
        self.sha256.update(data)
        self.num_bytes += len(data)
        self.num_records += len(columns[self.features[0].name])


def compose_frames(columns, features):
    """Composes the frames of a batch of records.

    Args:
      columns: Dict of feature name to [B, length] array. Numbers of an int64 feature are not
        negative.
      features: Sequence of Feature.

    Returns:
      memoryview of the bytes.

    Raises:
      InputError: If a column has a wrong shape or contains a negative number.
      ValueError: If the columns have different numbers of records.
    """
    _check_columns(columns, features)
    num_records = len(columns[features[0].name])
    ints = _join(
        [columns[feature.name] for feature in features if not feature.is_float],
        num_records,
        np.int64,
    )
    floats = _join(
        [columns[feature.name] for feature in features if feature.is_float], num_records, "<f4"
    )
    numbers = Numbers(ints, floats.view(np.uint8))
    layout = _create_layout(tuple(features))
    widest = -(-int(ints.max(initial=1)).bit_length() // 7)
    max_header_bytes = len(layout.names) + MAX_HEADER_BYTES * (len(features) + 1)
    max_record_bytes = ints.shape[1] * widest + numbers.float_bytes.shape[1] + max_header_bytes
    out = np.empty(num_records * max_record_bytes, np.uint8)
    size = compile_function(write_frames)(
        numbers, layout, _checksum_tables(), np.empty(len(features), np.int64), out
    )
    return memoryview(out[:size])


def compute_checksum(data):
    """Computes the masked CRC-32C of a bytes object."""
    return compile_function(checksum)(
        np.frombuffer(data, np.uint8), 0, len(data), _checksum_tables()
    )


def _check_columns(columns, features):
    for feature in features:
        values = np.asarray(columns[feature.name])
        if values.ndim != 2 or values.shape[1] != feature.length:
            raise InputError(
                f"{feature.name} has shape {list(values.shape)}; must be [batch, {feature.length}]"
            )
        if not feature.is_float and values.size and values.min() < 0:
            raise InputError(f"{feature.name} contains {values.min()}; must not be negative")


def _join(columns, num_records, dtype):
    """Joins a list of columns, which can be empty: [B, sum of their lengths]."""
    return np.concatenate(
        [np.zeros((num_records, 0), dtype), *columns], axis=1, dtype=dtype, casting="unsafe"
    )


@functools.cache
def _create_layout(features):
    """Creates the Layout of a tuple of Feature."""
    names = [feature.name.encode() for feature in features]
    stops = np.cumsum([len(name) for name in names])
    rows = [
        (feature.is_float, feature.length, stop - len(name), stop)
        for feature, name, stop in zip(features, names, stops, strict=True)
    ]
    return Layout(np.array(rows, np.int64), np.frombuffer(b"".join(names), np.uint8).copy())


@functools.cache
def _checksum_tables():
    """Returns int64 [8, 256]: the checksum of a byte followed by 0 to 7 zero bytes."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ np.uint32(POLYNOMIAL), table >> 1)
    tables = [table]
    for _ in range(CRC_BYTES - 1):
        tables.append(table[tables[-1] & 0xFF] ^ tables[-1] >> 8)
    return np.stack(tables).astype(np.int64)


def write_frames(numbers, layout, tables, sizes, out):
    """Writes the frames of all records.

    Args:
      numbers: Numbers.
      layout: Layout.
      tables: int64 [8, 256]. See `_checksum_tables`.
      sizes: int64 [F]. For temporary values.
      out: uint8 array to write to.

    Returns:
      The number of bytes.
    """
    stop = 0
    for row in range(len(numbers.ints)):
        length_stop = stop + LENGTH_BYTES
        start = length_stop + CHECKSUM_BYTES
        end = write_record(row, numbers, layout, sizes, out, start)
        put_number(out, stop, LENGTH_BYTES, end - start)
        put_number(out, length_stop, CHECKSUM_BYTES, checksum(out, stop, length_stop, tables))
        put_number(out, end, CHECKSUM_BYTES, checksum(out, start, end, tables))
        stop = end + CHECKSUM_BYTES
    return stop


def write_record(row, numbers, layout, sizes, out, place):
    """Writes a tf.train.Example at position `place` of `out`; returns the position after it."""
    ints = numbers.ints
    features = layout.features
    total = first = 0
    for i in range(len(features)):
        is_float = features[i, 0]
        length = features[i, 1]
        size = 4 * length
        if not is_float:
            size = length
            for j in range(first, first + length):
                rest = ints[row, j] >> 7
                while rest:
                    rest >>= 7
                    size += 1
            first += length
        sizes[i] = size
        name = length_size(features[i, 3] - features[i, 2])
        total += length_size(name + length_size(length_size(length_size(size))))
    place = put_length(out, place, EXAMPLE_FEATURES, total)
    first = first_byte = 0
    for i in range(len(features)):
        is_float = features[i, 0]
        length = features[i, 1]
        name_start = features[i, 2]
        name_stop = features[i, 3]
        list_size = length_size(sizes[i])
        value_size = length_size(list_size)
        name = length_size(name_stop - name_start)
        place = put_length(out, place, FEATURES_ENTRY, name + length_size(value_size))
        place = put_length(out, place, ENTRY_KEY, name_stop - name_start)
        for j in range(name_start, name_stop):
            out[place] = layout.names[j]
            place += 1
        place = put_length(out, place, ENTRY_VALUE, value_size)
        place = put_length(out, place, FEATURE_FLOATS if is_float else FEATURE_INTS, list_size)
        place = put_length(out, place, LIST_VALUE, sizes[i])
        if is_float:
            for j in range(sizes[i]):
                out[place + j] = numbers.float_bytes[row, first_byte + j]
            first_byte += sizes[i]
            place += sizes[i]
        else:
            for j in range(first, first + length):
                rest = ints[row, j]
                while rest > 127:
                    out[place] = rest & 127 | 128
                    rest >>= 7
                    place += 1
                out[place] = rest
                place += 1
            first += length
    return place


def length_size(size):
    """Computes the size in bytes of a field of `size` bytes with its tag and length."""
    total = size + 2
    rest = size >> 7
    while rest:
        rest >>= 7
        total += 1
    return total


def put_length(out, place, tag, size):
    """Writes the tag and length of a field; returns the position after them."""
    out[place] = tag
    place += 1
    while size > 127:
        out[place] = size & 127 | 128
        size >>= 7
        place += 1
    out[place] = size
    return place + 1


def put_number(out, place, num_bytes, number):
    """Writes a number in little-endian order."""
    for i in range(num_bytes):
        out[place + i] = number >> 8 * i & 0xFF


def checksum(data, start, stop, tables):
    """Computes the masked CRC-32C of bytes `start` to `stop` - 1."""
    state = 0xFFFFFFFF
    while stop - start >= CRC_BYTES:
        low = state ^ (
            data[start] | data[start + 1] << 8 | data[start + 2] << 16 | data[start + 3] << 24
        )
        state = (
            tables[7, low & 0xFF]
            ^ tables[6, low >> 8 & 0xFF]
            ^ tables[5, low >> 16 & 0xFF]
            ^ tables[4, low >> 24]
            ^ tables[3, data[start + 4]]
            ^ tables[2, data[start + 5]]
            ^ tables[1, data[start + 6]]
            ^ tables[0, data[start + 7]]
        )
        start += CRC_BYTES
    while start < stop:
        state = tables[0, (state ^ data[start]) & 0xFF] ^ state >> 8
        start += 1
    state ^= 0xFFFFFFFF
    return (state >> 15 | state << 17) + MASK_DELTA & 0xFFFFFFFF
