"""Reader for TFRecord files that checks each frame, without TensorFlow."""

from bert_tf.errors import InputError
from data_prep.reading import GZIP_START
from data_prep.records.frames import FOOTER, HEADER, LENGTH_BYTES, compute_checksum

COMPRESSED = "is compressed, but records are only read uncompressed; run gunzip"


def read_records(path, file, size):
    """Yields the records of a TFRecord file.

    Args:
      path: Name of the file, for error messages.
      file: Binary file object, open for reading.
      size: int. Size of the file in bytes.

    Yields:
      Tuple `(offset, record)`: the byte offset of the frame, and the record.

    Raises:
      InputError: If the file is empty, ends within a record, or fails a checksum. The message has
        the byte offset.
    """
    if not size:
        raise InputError(f"{path}: is empty")
    offset = number = 0
    while offset < size:
        header = file.read(HEADER.size)
        is_complete = len(header) == HEADER.size
        length, length_checksum = HEADER.unpack(header) if is_complete else (0, 0)
        if is_complete and compute_checksum(header[:LENGTH_BYTES]) != length_checksum:
            if header.startswith(GZIP_START) and not number:
                raise InputError(f"{path}: {COMPRESSED}")
            problem = f"corrupted after {number:,} records" if number else "not a TFRecord file"
            raise InputError(f"{path}: is {problem}; no record begins at byte {offset:,}")
        stop = offset + HEADER.size + length + FOOTER.size
        if not is_complete or stop > size:
            raise InputError(
                f"{path}: is truncated; contains {number:,} complete records up to byte "
                f"{offset:,}, and part of another one"
            )
        record = file.read(length)
        if compute_checksum(record) != FOOTER.unpack(file.read(FOOTER.size))[0]:
            raise InputError(
                f"{path}: record {number:,}, at byte {offset:,}, is corrupted: its checksum is "
                "wrong"
            )
        yield offset, record
        offset = stop
        number += 1
