"""Formats of files that are not text, by their first bytes."""

from bert_tf.errors import InputError

PARQUET_START = b"PAR1"

# First bytes of files that are not text, their format, and what to do.
_STARTS = (
    (PARQUET_START, "a Parquet file", "write its texts as lines or JSON lines"),
    (b"PK\x03\x04", "a ZIP archive or an Excel workbook", "extract it, or save the sheet as CSV"),
    (b"\xd0\xcf\x11\xe0", "an Excel or Word file of Microsoft Office", "save it as CSV"),
    (b"ARROW1", "an Arrow or Feather file", "write Parquet or CSV instead"),
    (b"\xff\xff\xff\xff", "a stream of Arrow records", "write Parquet or CSV instead"),
    (b"BZh", "compressed with bzip2", "decompress it, or compress it with gzip"),
    (b"\xfd7zXZ\x00", "compressed with xz", "decompress it, or compress it with gzip"),
    (b"\x28\xb5\x2f\xfd", "compressed with Zstandard", "decompress it, or compress it with gzip"),
    (b"\x93NUMPY", "a NumPy array", "write CSV or JSON lines instead"),
    (b"\x89HDF", "an HDF5 file", "write CSV or Parquet instead"),
    (b"SQLite format 3", "an SQLite database", "export the table as CSV"),
    (b"%PDF", "a PDF document", "save its text as a text file"),
    (b"\x80\x04\x95", "a Python pickle", "write CSV or Parquet instead"),
    (b"\x80\x05\x95", "a Python pickle", "write CSV or Parquet instead"),
)


def check_is_text_format(path, start):
    """Raises InputError if a file is in a format that is not text.

    Args:
      path: Path of the file, for the message, which says what the file is.
      start: bytes. The beginning of the file; an Excel workbook is recognized in its first 4 kB.
    """
    for first, description, remedy in _STARTS:
        if start.startswith(first):
            if first.startswith(b"PK") and b"xl/" in start:
                raise InputError(f"{path}: is an Excel workbook; save the sheet as CSV (UTF-8)")
            raise InputError(f"{path}: is {description}; {remedy}")
