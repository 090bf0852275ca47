"""Reading TFRecord files without TensorFlow: files that it wrote, and damaged files."""

import gzip
import random

import pytest
import tensorflow as tf

from data_prep.records import reader
from tests.errors import Message, raises_message, rejects

RECORDS = [
    b"",
    b"a",
    b"abc",
    b"123456789",
    bytes(32),
    b"\xff" * 32,
    random.Random(3).randbytes(1001),
    random.Random(4).randbytes(4096),
    *(random.Random(size).randbytes(size) for size in (255, 256, 257, 511, 512, 513, 100_003)),
]


def write_records(path, records):
    """Writes records with TensorFlow; returns the bytes of the file."""
    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in records:
            writer.write(record)
    return path.read_bytes()


def read(path):
    with open(path, "rb") as file:
        return list(reader.read_records(str(path), file, path.stat().st_size))


def test_reads_files_of_tensorflow(tmp_path):
    path = tmp_path / "a"
    write_records(path, RECORDS)
    offsets = [
        sum(16 + len(record) for record in RECORDS[:number]) for number in range(len(RECORDS))
    ]
    assert read(path) == list(zip(offsets, RECORDS, strict=True))


def test_a_compressed_file(tmp_path):
    path = tmp_path / "a.tfrecord.gz"
    path.write_bytes(gzip.compress(b"record" * 9))
    with rejects("a.tfrecord.gz", "is compressed", "only read uncompressed"):
        read(path)


@pytest.mark.parametrize(
    ("size", "flipped", "message"),
    [
        (0, None, Message("a", "is empty")),
        (3, None, Message("a", "is truncated", "contains 0 complete records", "byte 0")),
        (21, None, Message("a", "is truncated", "contains 1 complete records", "byte 20")),
        (40, None, Message("a", "is truncated", "contains 1 complete records")),
        (41, 0, Message("a", "is not a TFRecord file", "no record begins at byte 0")),
        (41, 7, Message("a", "is not a TFRecord file")),  # the length exceeds the file
        (41, 13, Message("a", "record 0, at byte 0", "is corrupted", "its checksum is wrong")),
        (41, 20, Message("a", "is corrupted after 1 records", "no record begins at byte 20")),
        (41, 40, Message("a", "record 1, at byte 20", "is corrupted")),
    ],
)
def test_truncated_and_damaged_files(tmp_path, size, flipped, message):
    path = tmp_path / "a"
    data = bytearray(write_records(path, [b"abcd", b"efghi"]))
    assert len(data) == 41
    if flipped is not None:
        data[flipped] ^= 1
    path.write_bytes(data[:size])
    with raises_message(message):
        read(path)
