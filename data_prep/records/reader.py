"""Records of a TFRecord file, each frame checked, without TensorFlow."""

from bert_tf.errors import InputError
from data_prep.records.tfrecord_format import FOOTER, HEADER, LENGTH_BYTES, masked_checksums

READ_RECORDS = 256  # frames read together


def read_records(path, file, size):
    """Yields (offset, record) of a TFRecord file: the byte at which the record's frame begins, and the record.

    Args:
      path: its name, for messages.
      file: the file, open for reading bytes.
      size: of the file, in bytes.

    Raises:
      InputError: the file is empty, ends within a record or fails a checksum; the message says at which byte.
    """
    if not size:
        raise InputError(f"{path}: is empty")
    offset = number = 0
    while offset < size:
        headers, bodies, footers, rest = _read_frames(file, size - offset)
        # zip leaves the checksum of `rest` over
        length_checksums = masked_checksums([header[:LENGTH_BYTES] for header in [*headers, rest]])
        checksums = masked_checksums([*bodies, b""])
        for header, record, footer, length_checksum, checksum in zip(
                headers, bodies, footers, length_checksums, checksums, strict=False):
            if HEADER.unpack(header)[1] != length_checksum:
                raise _not_a_record(path, number, offset)
            if FOOTER.unpack(footer)[0] != checksum:
                raise InputError(f"{path}: record {number:,}, at byte {offset:,}, is damaged: its checksum is wrong")
            yield offset, record
            offset += HEADER.size + len(record) + FOOTER.size
            number += 1
        if rest:
            if len(rest) == HEADER.size and HEADER.unpack(rest)[1] != length_checksums[-1]:
                raise _not_a_record(path, number, offset)
            raise InputError(f"{path}: is truncated: after {number:,} whole records, which end at byte {offset:,}, it "
                             f"ends within a record")


def _read_frames(file, size):
    """Headers, records and footers of up to READ_RECORDS frames; what stands of the header of one that is cut off."""
    headers, bodies, footers = [], [], []
    while size and len(bodies) < READ_RECORDS:
        header = file.read(HEADER.size)
        length = HEADER.unpack(header)[0] if len(header) == HEADER.size else size
        size -= HEADER.size + length + FOOTER.size
        if size < 0:
            return headers, bodies, footers, header
        headers.append(header)
        bodies.append(file.read(length))
        footers.append(file.read(FOOTER.size))
    return headers, bodies, footers, b""


def _not_a_record(path, number, offset):
    what = f"damaged after {number:,} records" if number else "not a TFRecord file"
    return InputError(f"{path}: {what}: no record begins at byte {offset:,}")
