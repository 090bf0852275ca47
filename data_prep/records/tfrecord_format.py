"""The TFRecord file format, without TensorFlow: record frames and their checksums.

A file is a sequence of frames; a frame is the record's length (8 bytes), the masked CRC-32C of these 8 bytes,
the record, and its masked CRC-32C (4 bytes each, all little-endian; tensorflow/core/lib/io/record_writer.h).
Importing TensorFlow takes seconds and hundreds of megabytes, which every process that makes records would pay.
"""

import functools
import struct

import numpy as np

POLYNOMIAL = 0x82F63B78  # Castagnoli's, bits reversed
MASK_DELTA = 0xA282EAD8  # of tensorflow/core/lib/hash/crc32c.h
HEADER = struct.Struct("<QI")
FOOTER = struct.Struct("<I")
LENGTH_BYTES = 8  # of the header, which its checksum covers
CHUNK_BYTES = 256
MAX_BATCH_BYTES = 1 << 25  # of records whose checksums are computed together


def frames(records):
    """The bytes that stand for a list of records (bytes objects) in a file."""
    if not records:
        return b""
    lengths = np.fromiter(map(len, records), "<u8", len(records))
    length_checksums = masked_checksums([length.tobytes() for length in lengths])
    return b"".join(part for length, length_checksum, record, checksum
                    in zip(lengths.tolist(), length_checksums, records, masked_checksums(records), strict=True)
                    for part in (HEADER.pack(length, length_checksum), record, FOOTER.pack(checksum)))


def masked_checksums(records):
    """The masked CRC-32C of each of the bytes objects `records`, a list of int.

    A CRC is linear. So all chunks of all records are processed together, each from a state of zero, four bytes at a
    time, and a record's chunks are added up, each advanced to the record's end. Zero bytes in front leave a state of
    zero as it is, so that records of any lengths end together. The initial state, all ones, is the same as ones added
    to the first four bytes; what of it is left after fewer bytes is added at the end.
    """
    lengths = np.fromiter(map(len, records), np.int64, len(records))
    longest = max(4, int(lengths.max()))
    num_chunks = -(-longest // CHUNK_BYTES)
    width = num_chunks * CHUNK_BYTES if num_chunks > 1 else -(-longest // 4) * 4
    if len(records) > 1 and len(records) * width > MAX_BATCH_BYTES:
        middle = len(records) // 2
        return masked_checksums(records[:middle]) + masked_checksums(records[middle:])
    rows = np.frombuffer(bytearray().join(record.rjust(width, b"\0") for record in records), np.uint8)
    rows = rows.reshape(len(records), width)
    for i in range(4):
        longer = np.flatnonzero(lengths > i)
        rows[longer, width - lengths[longer] + i] ^= 0xFF
    chunk_states = np.zeros(len(records) * num_chunks, np.uint32)
    for word in np.ascontiguousarray(rows.view("<u4").reshape(len(chunk_states), -1).T):
        chunk_states = _advanced(chunk_states ^ word, 4)
    state, *others = chunk_states.reshape(len(records), num_chunks).T
    for chunk_state in others:
        state = _advanced(state, CHUNK_BYTES) ^ chunk_state
    state = ~(state ^ (0xFFFFFFFF >> 8 * np.minimum(lengths, 4)).astype(np.uint32))
    return ((state >> 15 | state << 17) + np.uint32(MASK_DELTA)).tolist()


def _advanced(states, num_bytes):
    """What `num_bytes` zero bytes make of states, an array of uint32. `num_bytes`: 4 times a power of two."""
    low, high = _tables(num_bytes)
    return low.take(states & 0xFFFF) ^ high.take(states >> 16)


@functools.cache
def _tables(num_bytes):
    """`_advanced` of states that are all low, and of those that are all high 16 bits: two [65536] uint32 arrays."""
    if num_bytes > 4:
        return tuple(_advanced(_advanced(states, num_bytes // 2), num_bytes // 2) for states in _halves())
    return tuple(map(_advanced_four_bytes, _halves()))


def _halves():
    states = np.arange(1 << 16, dtype=np.uint32)
    return states, states << 16


def _advanced_four_bytes(states):
    for _ in range(32):
        states = np.where(states & 1, states >> 1 ^ np.uint32(POLYNOMIAL), states >> 1)
    return states
