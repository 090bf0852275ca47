"""Rows of TSV and CSV files, each with the number of its line, so that a bad one can be named."""

import csv

from bert_tf import files
from bert_tf.errors import InputError

MAX_FIELD_CHARACTERS = (1 << 31) - 1  # in place of Python's 131,072, which a long document exceeds; the most it takes


def read_rows(path, decoder=None):
    """Yields (line number, list of fields) of a table, its header included; empty lines are left out.

    A file named *.csv has commas and double quotes. Any other has tabs, quotes in it mean nothing, and no
    field holds a line break: that is how GLUE is published and how the original reads it. Bytes that are not UTF-8 are
    dropped.

    Args:
      path: of the file.
      decoder: bert_tf.files.LineDecoder, which counts the lines with such bytes; or None.

    Raises:
      InputError: where the file is missing; naming file and line, where quotes do not close.
    """
    decoder = decoder or files.LineDecoder()
    if not files.is_file(path):
        raise InputError(f"{path}: no such file")
    with files.open_bytes(path) as file:
        # Lines end at \n alone: texts may hold any other character that Python takes for the end of a line.
        lines = (decoder(line, not number) for number, line in enumerate(file))
        if path.lower().endswith(".csv"):
            yield from _csv_rows(lines, path)
            return
        for number, line in enumerate(lines, start=1):
            if line := line.rstrip("\r\n"):
                yield number, line.split("\t")


def read_header(path):
    """The fields of a table's first row; empty for an empty file."""
    for _, fields in read_rows(path):
        return fields
    return []


def position(column, header, path):
    """The position, from 0, of a column by its name in the header; InputError lists the names."""
    if column not in header:
        raise InputError(f"{path}:1: there is no column {column!r}: the columns are {', '.join(header)}")
    return header.index(column)


def _csv_rows(lines, path):
    reader = csv.reader(lines, strict=True)
    try:
        while (fields := _next_row(reader)) is not None:
            if fields:
                yield reader.line_num, fields
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}: {error}") from error


def _next_row(reader):
    """The next row of a csv.reader, None at its end."""
    # The limit is one for the whole process: other readers in it keep theirs.
    limit = csv.field_size_limit(MAX_FIELD_CHARACTERS)
    try:
        return next(reader, None)
    finally:
        csv.field_size_limit(limit)

