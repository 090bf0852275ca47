"""Frames of a TFRecord file, in compiled code without TensorFlow.

A file is a sequence of frames. A frame is the record's length (8 bytes), the masked CRC-32C of
these 8 bytes, the record, and its masked CRC-32C (4 bytes each, all little-endian;
tensorflow/core/lib/io/record_writer.h). A record is a serialized tf.train.Example. Building
protobuf messages number by number takes longer than all other steps together.

Compiled functions cannot look up names, so the numbers of a batch are two arrays with the features
in order: the integers of a record in one row of the first, the bytes of its floats in one row of
the second. The functions are compiled together, so they are all in this file: see
data_prep.compilation.
"""

import functools
import struct
from typing import NamedTuple

import numpy as np

from data_prep.compilation import compiled

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


def compute_checksum(data):
    """Computes the masked CRC-32C of a bytes object."""
    return compute_array_checksum(np.frombuffer(data, np.uint8), create_checksum_tables())


@functools.cache
def create_checksum_tables():
    """Creates int64 [8, 256]: the checksum of a byte followed by 0 to 7 zero bytes."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ np.uint32(POLYNOMIAL), table >> 1)
    tables = [table]
    for _ in range(CRC_BYTES - 1):
        tables.append(table[tables[-1] & 0xFF] ^ tables[-1] >> 8)
    return np.stack(tables).astype(np.int64)


@compiled
def compute_array_checksum(data, tables):
    """Computes the masked CRC-32C of an uint8 array."""
    return checksum(data, 0, len(data), tables)


@compiled
def write_frames(numbers, layout, tables, sizes, out):
    """Writes the frames of all records.

    Args:
      numbers: Numbers.
      layout: Layout.
      tables: int64 [8, 256]. See `create_checksum_tables`.
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


def write_record(row, numbers, layout, sizes, out, offset):
    """Writes a tf.train.Example at position `offset` of `out`; returns the position after it."""
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
    offset = put_length(out, offset, EXAMPLE_FEATURES, total)
    first = first_byte = 0
    for i in range(len(features)):
        is_float = features[i, 0]
        length = features[i, 1]
        name_start = features[i, 2]
        name_stop = features[i, 3]
        list_size = length_size(sizes[i])
        value_size = length_size(list_size)
        name = length_size(name_stop - name_start)
        offset = put_length(out, offset, FEATURES_ENTRY, name + length_size(value_size))
        offset = put_length(out, offset, ENTRY_KEY, name_stop - name_start)
        for j in range(name_start, name_stop):
            out[offset] = layout.names[j]
            offset += 1
        offset = put_length(out, offset, ENTRY_VALUE, value_size)
        offset = put_length(out, offset, FEATURE_FLOATS if is_float else FEATURE_INTS, list_size)
        offset = put_length(out, offset, LIST_VALUE, sizes[i])
        if is_float:
            for j in range(sizes[i]):
                out[offset + j] = numbers.float_bytes[row, first_byte + j]
            first_byte += sizes[i]
            offset += sizes[i]
        else:
            for j in range(first, first + length):
                rest = ints[row, j]
                while rest > 127:
                    out[offset] = rest & 127 | 128
                    rest >>= 7
                    offset += 1
                out[offset] = rest
                offset += 1
            first += length
    return offset


def length_size(size):
    """Computes the size in bytes of a field of `size` bytes with its tag and length."""
    total = size + 2
    rest = size >> 7
    while rest:
        rest >>= 7
        total += 1
    return total


def put_length(out, offset, tag, size):
    """Writes the tag and length of a field; returns the position after them."""
    out[offset] = tag
    offset += 1
    while size > 127:
        out[offset] = size & 127 | 128
        size >>= 7
        offset += 1
    out[offset] = size
    return offset + 1


def put_number(out, offset, num_bytes, number):
    """Writes a number in little-endian order."""
    for i in range(num_bytes):
        out[offset + i] = number >> 8 * i & 0xFF


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
