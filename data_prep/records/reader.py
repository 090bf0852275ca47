"""Records of a TFRecord file, each frame checked, without TensorFlow."""

from bert_tf.errors import InputError
from data_prep.records.frames import FOOTER, HEADER, LENGTH_BYTES, compute_checksum


def read_records(path, file, size):
    """Yields (offset, record) of a TFRecord file: the byte at which the record's frame begins, and the record.

    Args:
      path: Name of the file, for messages.
      file: The file, open for reading bytes.
      size: int. Bytes of the file.

    Raises:
      InputError: If the file is empty, ends within a record, or fails a checksum; the message has the byte.
    """
    if not size:
        raise InputError(f"{path}: is empty")
    offset = number = 0
    while offset < size:
        header = file.read(HEADER.size)
        is_whole = len(header) == HEADER.size
        length, length_checksum = HEADER.unpack(header) if is_whole else (0, 0)
        if is_whole and compute_checksum(header[:LENGTH_BYTES]) != length_checksum:
            problem = f"damaged after {number:,} records" if number else "not a TFRecord file"
            raise InputError(f"{path}: {problem}: no record begins at byte {offset:,}")
        stop = offset + HEADER.size + length + FOOTER.size
        if not is_whole or stop > size:
            raise InputError(f"{path}: is truncated: after {number:,} whole records, which end at byte {offset:,}, it "
                             f"ends within a record")
        record = file.read(length)
        if compute_checksum(record) != FOOTER.unpack(file.read(FOOTER.size))[0]:
            raise InputError(f"{path}: record {number:,}, at byte {offset:,}, is damaged: its checksum is wrong")
        yield offset, record
        offset = stop
        number += 1
