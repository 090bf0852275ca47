"""Reader for rows of CSV, TSV, and JSON lines files with their line numbers, for error messages."""

import csv
import itertools
import json
import re

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.files import replace_surrogates

JSON_LINES = ".jsonl"  # End of the names of files with a JSON object per line.
# Limit of all CSV readers of the process; long documents exceed its default.
MAX_FIELD_CHARACTERS = (1 << 31) - 1


def read_rows(path, decoder=None):
    """Yields (line number, list of fields) of a table, including its header.

    Skips empty lines. In a table with one column, an empty line after the header is an empty text.

    A file named *.csv has commas, or semicolons if its header has no comma, and double quotes. A
    file named *.jsonl has a JSON object per line; the header is the keys of the first one. Any
    other file has tabs, without quoting or line breaks in fields, like the published GLUE files and
    the original BERT's reader. Invalid UTF-8 bytes are dropped.

    Args:
      path: Path of the file.
      decoder: bert_tf.files.LineDecoder that counts the lines with invalid bytes, or None.

    Raises:
      InputError: If the file is missing or is not text, if quotes are not closed, or if a line is
        not a JSON object with the keys of the first one. The message names the file, and the line
        if applicable.
    """
    decoder = decoder or files.LineDecoder()
    width = None
    if path.lower().endswith(JSON_LINES):
        rows = _read_json_rows(read_objects(path, decoder), path)
    elif is_csv(path):
        rows = _read_csv_rows(read_lines(path, decoder), path)
    else:
        rows = _read_tsv_rows(read_lines(path, decoder))
    for number, fields in rows:
        if fields or width == 1:
            yield number, fields or [""]
        width = width or len(fields)


def read_lines(path, decoder):
    """Yields the lines of a file with their ends.

    Lines end only at \\n: texts may contain other line ends of Python.

    Args:
      path: Path of the file.
      decoder: bert_tf.files.LineDecoder, which drops invalid UTF-8 bytes and counts their lines.

    Raises:
      InputError: If the file is missing or is not text. The message names the file.
    """
    place = files.at(path)
    if not place.is_file():
        raise InputError(f"{path}: does not exist or is not a file")
    with place.open() as file:
        yield from decoder.lines(file, path)


def is_csv(path):
    """Returns whether the name of a file is the name of a CSV file."""
    return path.lower().endswith(".csv")


def check_width(path, line, fields, width):
    """Raises InputError with file and line unless a row has `width` fields, as the header has."""
    if len(fields) == width:
        return
    advice = ""
    if len(fields) > width and is_csv(path):
        advice = "; enclose texts that contain commas in double quotes"
    elif len(fields) > width:
        advice = "; texts cannot contain tabs"
    raise InputError(f"{path}:{line}: must have {width} columns, but has {len(fields)}{advice}")


def list_names(names):
    """Joins names of columns or labels for a message, and quotes ambiguous ones."""
    return ", ".join(
        repr(name) if re.search(r"[\s,]", name) or not name else name for name in names
    )


def find_position(column, header, path):
    """Returns the 0-based position of a column by its name in the header.

    Raises:
      InputError: If the column does not exist. The message lists the names.
    """
    if column not in header:
        raise InputError(
            f"{path}:1: column {column!r} does not exist; must be one of {list_names(header)}"
        )
    return header.index(column)


def _read_tsv_rows(lines):
    for number, line in enumerate(lines, start=1):
        line = line.rstrip("\r\n")
        yield number, line.split("\t") if line else []


def read_objects(path, decoder):
    """Yields (line number, dict) of a file with a JSON object per line, without empty lines.

    For arguments, see `read_lines`.

    Raises:
      InputError: If the file is missing, or a line is not a JSON object. The message names the
        file, and the line.
    """
    for number, line in enumerate(read_lines(path, decoder), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            raise InputError(f"{path}:{number}: must be a JSON object")
        yield number, row


def _read_json_rows(objects, path):
    keys = None
    for number, row in objects:
        if keys is None:
            keys = list(row)
            yield number, keys
        if any(key not in row for key in keys):
            raise InputError(
                f"{path}:{number}: must be a JSON object with the keys {list_names(keys)}, as in "
                "the first line"
            )
        yield number, [_to_text(row[key]) for key in keys]


def _to_text(value):
    """Returns the text of a JSON value: a string itself, "" for null, and others as in JSON."""
    if isinstance(value, str):
        return replace_surrogates(value)
    return "" if value is None else json.dumps(value)


def _read_csv_rows(lines, path):
    first = next(lines, "")
    delimiter = ";" if ";" in first and "," not in first else ","
    reader = csv.reader(itertools.chain([first], lines), strict=True, delimiter=delimiter)
    csv.field_size_limit(MAX_FIELD_CHARACTERS)
    try:
        for fields in reader:
            yield reader.line_num, fields
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}: {error}") from error
