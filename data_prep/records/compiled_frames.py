"""Batches of numbers -> records framed as in a TFRecord file, by a compiled function: what serialize and frames give.

The numbers of a batch are two arrays, as a compiled function cannot look names up: all integers of a record in one row
of the one, all bytes of its floats in one row of the other, in the order of the features.
"""

import functools

import numpy as np

from data_prep.machine import compiled
from data_prep.records import tfrecord_format

LENGTH_BYTES, CHECKSUM_BYTES = 8, 4  # around each record: its length and the length's checksum, its own checksum
CRC_BYTES = 8  # taken at a time
MASK_DELTA = 0xA282EAD8  # as tfrecord_format's
# Tags of tensorflow/core/example/example.proto and feature.proto: field << 3 | 2, each of these being of a length.
EXAMPLE_FEATURES, FEATURES_ENTRY, ENTRY_KEY, ENTRY_VALUE, LIST_VALUE = 0x0A, 0x0A, 0x0A, 0x12, 0x0A
FEATURE_FLOATS, FEATURE_INTS = 0x12, 0x1A
MOST_HEADER_BYTES = 64  # of a feature, its name left out, and of a record
MOST_VARINT_BYTES = 10


def frames(columns, features):
    """The bytes that stand for a batch of records in a file.

    Args:
      columns: dict of feature name -> [B, length] array; numbers of an int64 feature are not negative.
      features: sequence of Feature.

    Returns:
      memoryview.

    Raises:
      ValueError: columns of different numbers of records.
    """
    num_records, *others = {len(column) for column in columns.values()}
    if others:
        raise ValueError(f"columns of {num_records} and of {others[0]} records")
    ints, float_bytes = _joined(columns, features, False), _joined(columns, features, True).view(np.uint8)
    layout, names = _layout(tuple(features))
    widest = -(-int(ints.max(initial=1)).bit_length() // 7)
    most = ints.shape[1] * widest + float_bytes.shape[1] + len(names) + MOST_HEADER_BYTES * (len(features) + 1)
    out = np.empty(num_records * most, np.uint8)
    size = compiled(write_frames, write_record, packed_size, put_length, length_size, put_number, checksum)(
        ints, float_bytes, layout, names, _checksum_tables(), out)
    return memoryview(out[:size])


def _joined(columns, features, is_float):
    """The columns of all integers, or of all floats as float32, one beside the other."""
    nothing = np.zeros((len(columns[features[0].name]), 0), "<f4" if is_float else np.int32)
    found = [np.asarray(columns[feature.name]) for feature in features if feature.is_float == is_float]
    dtype = nothing.dtype if is_float or np.result_type(nothing, *found) == np.int32 else np.int64
    return np.concatenate([nothing, *found], axis=1, dtype=dtype, casting="unsafe")


@functools.cache
def _layout(features):
    """[F, 4] array: whether it is of floats, its numbers, where its name starts and stops; the names, uint8 array."""
    names = [feature.name.encode() for feature in features]
    stops = np.cumsum([len(name) for name in names])
    rows = [(feature.is_float, feature.length, stop - len(name), stop)
            for feature, name, stop in zip(features, names, stops, strict=True)]
    return np.array(rows, np.int64), np.frombuffer(b"".join(names), np.uint8).copy()


@functools.cache
def _checksum_tables():
    """[8, 256] int64: what a byte makes of a checksum, followed by 0 to 7 zero bytes."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ np.uint32(tfrecord_format.POLYNOMIAL), table >> 1)
    tables = [table]
    for _ in range(CRC_BYTES - 1):
        tables.append(table[tables[-1] & 0xFF] ^ tables[-1] >> 8)
    return np.stack(tables).astype(np.int64)


def write_frames(ints, float_bytes, layout, names, tables, out):
    """Writes all records; returns how many bytes they take."""
    sizes = np.empty(len(layout), np.int64)
    stop = 0
    for row in range(len(ints)):
        start = stop + LENGTH_BYTES + CHECKSUM_BYTES
        end = write_record(ints[row], float_bytes[row], layout, names, sizes, out, start)
        put_number(out, stop, LENGTH_BYTES, end - start)
        put_number(out, stop + LENGTH_BYTES, CHECKSUM_BYTES, checksum(out, stop, stop + LENGTH_BYTES, tables))
        put_number(out, end, CHECKSUM_BYTES, checksum(out, start, end, tables))
        stop = end + CHECKSUM_BYTES
    return stop


def write_record(ints, float_bytes, layout, names, sizes, out, place):
    """Writes a tf.train.Example at a place of `out`; returns where it ends. `sizes`: room for a number a feature."""
    total = first = 0
    for i in range(len(layout)):
        is_float, length = layout[i, 0], layout[i, 1]
        if is_float:
            sizes[i] = 4 * length
        else:
            sizes[i] = packed_size(ints[first:first + length])
            first += length
        name = length_size(layout[i, 3] - layout[i, 2])
        total += length_size(name + length_size(length_size(length_size(sizes[i]))))
    place = put_length(out, place, EXAMPLE_FEATURES, total)
    first = first_byte = 0
    for i in range(len(layout)):
        is_float, length, name_start, name_stop = layout[i, 0], layout[i, 1], layout[i, 2], layout[i, 3]
        of_list = length_size(sizes[i])
        of_value = length_size(of_list)
        name = length_size(name_stop - name_start)
        place = put_length(out, place, FEATURES_ENTRY, name + length_size(of_value))
        place = put_length(out, place, ENTRY_KEY, name_stop - name_start)
        for j in range(name_start, name_stop):
            out[place] = names[j]
            place += 1
        place = put_length(out, place, ENTRY_VALUE, of_value)
        place = put_length(out, place, FEATURE_FLOATS if is_float else FEATURE_INTS, of_list)
        place = put_length(out, place, LIST_VALUE, sizes[i])
        if is_float:
            for j in range(sizes[i]):
                out[place + j] = float_bytes[first_byte + j]
            first_byte += sizes[i]
            place += sizes[i]
        else:
            for j in range(first, first + length):
                rest = ints[j]
                while rest > 127:
                    out[place] = rest & 127 | 128
                    rest >>= 7
                    place += 1
                out[place] = rest
                place += 1
            first += length
    return place


def packed_size(numbers):
    """Bytes of numbers in base 128."""
    size = len(numbers)
    for number in numbers:
        while number > 127:
            number >>= 7
            size += 1
    return size


def length_size(size):
    """Bytes of a field of `size` bytes with its tag and length."""
    total = size + 2
    rest = size >> 7
    while rest:
        rest >>= 7
        total += 1
    return total


def put_length(out, place, tag, size):
    """Writes the tag and length of a field; returns the place after them."""
    out[place] = tag
    place += 1
    while size > 127:
        out[place] = size & 127 | 128
        size >>= 7
        place += 1
    out[place] = size
    return place + 1


def put_number(out, place, num_bytes, number):
    """Writes a number, lowest byte first."""
    for i in range(num_bytes):
        out[place + i] = number >> 8 * i & 0xFF


def checksum(data, start, stop, tables):
    """The masked CRC-32C of bytes `start` to `stop` - 1."""
    state = 0xFFFFFFFF
    while stop - start >= CRC_BYTES:
        low = state ^ (data[start] | data[start + 1] << 8 | data[start + 2] << 16 | data[start + 3] << 24)
        state = (tables[7, low & 0xFF] ^ tables[6, low >> 8 & 0xFF] ^ tables[5, low >> 16 & 0xFF]
                 ^ tables[4, low >> 24] ^ tables[3, data[start + 4]] ^ tables[2, data[start + 5]]
                 ^ tables[1, data[start + 6]] ^ tables[0, data[start + 7]])
        start += CRC_BYTES
    while start < stop:
        state = tables[0, (state ^ data[start]) & 0xFF] ^ state >> 8
        start += 1
    state ^= 0xFFFFFFFF
    return (state >> 15 | state << 17) + MASK_DELTA & 0xFFFFFFFF
