"""Reader for rows of TSV and CSV files with their line numbers, for error messages."""

import csv
import re

from bert_tf import files
from bert_tf.errors import InputError

MAX_FIELD_CHARACTERS = (1 << 31) - 1  # Python's maximum. Long documents exceed its default of 131,072.


def read_rows(path, decoder=None):
    """Yields (line number, list of fields) of a table, including its header.

    Skips empty lines. In a table with one column, an empty line after the header is an empty text.

    A file named *.csv has commas and double quotes. Any other file has tabs, without quoting or line breaks in fields,
    like the published GLUE files and the original BERT's reader. Invalid UTF-8 bytes are dropped.

    Args:
      path: Path of the file.
      decoder: bert_tf.files.LineDecoder that counts the lines with invalid bytes, or None.

    Raises:
      InputError: If the file is missing or is not text, or if quotes are not closed. The message names the file, and
        the line for quotes.
    """
    decoder = decoder or files.LineDecoder()
    place = files.at(path)
    if not place.is_file():
        raise InputError(f"{path}: does not exist or is not a file")
    with place.open() as file:
        # Lines end only at \n: texts may contain any other character that Python treats as a line end.
        lines = decoder.lines(file, path)
        width = None
        for number, fields in _read_csv_rows(lines, path) if is_csv(path) else _read_tsv_rows(lines):
            if fields or width == 1:
                yield number, fields or [""]
            width = width or len(fields)


def is_csv(path):
    """Returns whether the name of a file is the name of a CSV file."""
    return path.lower().endswith(".csv")


def check_width(path, line, fields, width):
    """Raises InputError with file and line unless a row has `width` fields, as the header has."""
    if len(fields) != width:
        advice = "enclose texts that contain commas in double quotes" if is_csv(path) else "texts cannot contain tabs"
        raise InputError(f"{path}:{line}: must have {width} columns, but has {len(fields)}"
                         + f"; {advice}" * (len(fields) > width))


def list_names(names):
    """Joins names of columns or labels for a message; quotes a name that would be ambiguous without quotes."""
    return ", ".join(repr(name) if re.search(r"[\s,]", name) or not name else name for name in names)


def read_header(path):
    """Returns the fields of a table's first row; empty for an empty file."""
    for _, fields in read_rows(path):
        return fields
    return []


def find_position(column, header, path):
    """Returns the 0-based position of a column by its name in the header; InputError lists the names."""
    if column not in header:
        raise InputError(f"{path}:1: column {column!r} does not exist; must be one of {list_names(header)}")
    return header.index(column)


def _read_tsv_rows(lines):
    for number, line in enumerate(lines, start=1):
        line = line.rstrip("\r\n")
        yield number, line.split("\t") if line else []


def _read_csv_rows(lines, path):
    reader = csv.reader(lines, strict=True)
    try:
        while (fields := _next_row(reader)) is not None:
            yield reader.line_num, fields
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}: {error}") from error


def _next_row(reader):
    """Returns the next row of a csv.reader, or None at its end."""
    # The limit is global for the process, so it is restored for other readers.
    limit = csv.field_size_limit(MAX_FIELD_CHARACTERS)
    try:
        return next(reader, None)
    finally:
        csv.field_size_limit(limit)

