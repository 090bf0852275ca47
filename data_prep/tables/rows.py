"""Rows of tables with their line numbers, for error messages: delimited text, JSON, and Parquet.

The content of a file determines its format. Its name only helps: a file named *.csv has commas if
its header allows it, a file named *.jsonl has JSON lines.

Rows are read one by one: for 2 GB of CSV, the process required at most 38 MB.
"""

import csv
import dataclasses
import itertools
import re

from bert_tf import files
from bert_tf.errors import InputError
from data_prep.tables import contents, dialects, objects

JSON_LINES = ".jsonl"  # End of the names of files with a JSON object per line.
# Limit of all CSV readers of the process; long documents exceed its default.
MAX_FIELD_CHARACTERS = (1 << 31) - 1
NUM_HEADER_ROWS = 50  # Rows to compare with the header.
MAX_HEADER_WORDS = 5

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class TableOptions:
    """Options for reading a table.

    Attributes:
      dialect: str. `dialects.AUTO`, or one of `dialects.DIALECTS` for delimited text.
      columns: Tuple of str. Names of all columns of delimited text without a header; empty if the
        first row has the names.
    """

    dialect: str = dialects.AUTO
    columns: tuple = ()


DEFAULT = TableOptions()
PUBLISHED = TableOptions(dialects.TAB.name)  # GLUE and the original BERT's reader.


def read_rows(path, decoder=None, options=DEFAULT, notes=None):
    """Yields (line number, list of cells) of a table, beginning with its header.

    A cell is a str, or a list or dict of JSON and Parquet. Rows of a JSON array and of Parquet are
    numbered from 1. The header of JSON is the keys of the first object.

    Skips empty lines. In a table with one column, an empty line after the header is an empty text.
    Invalid UTF-8 bytes are dropped.

    Args:
      path: Path of the file, which can be compressed with gzip; - for standard input.
      decoder: bert_tf.files.LineDecoder that counts the lines with invalid bytes, or None.
      options: TableOptions.
      notes: List of str to which notes for the user are added, or None.

    Raises:
      InputError: If the file is missing or has another format, if quotes are not closed, if a line
        is not a JSON object with the keys of the first one, or if the named columns are not those
        of the file. The message names the file, and the line if applicable.
    """
    decoder = decoder or files.LineDecoder()
    with contents.open_content(path) as content:
        found = find_objects(path, content, decoder, options)
        if found is not None:
            if options.columns:
                raise InputError(
                    f"has no effect on {path}, whose values have names", "columns", options.columns
                )
            yield from _to_rows(found, path)
            return
        yield from read_delimited_rows(path, content, decoder, options, notes)


def read_delimited_rows(path, content, decoder, options=DEFAULT, notes=None):
    """Yields (line number, list of str) of a Content of delimited text; see `read_rows`."""
    dialect = _choose_dialect(path, content, options, notes)
    lines = decoder.lines(content.file, path)
    if dialect.has_quotes:
        rows = _read_quoted_rows(lines, path, dialect.delimiter)
    else:
        rows = _read_unquoted_rows(lines, dialect.delimiter)
    yield from _add_header(_skip_empty_rows(rows, len(options.columns)), path, options.columns)


def read_objects(path, decoder=None):
    """Yields (number, dict) of JSON lines, a JSON array, or Parquet. See `read_rows`.

    Raises:
      InputError: If the file has another format.
    """
    decoder = decoder or files.LineDecoder()
    with contents.open_content(path) as content:
        found = find_objects(path, content, decoder)
        if found is None:
            raise InputError(f"{path}: must be JSON lines, a JSON array of objects, or Parquet")
        yield from found


def read_all_texts(path, decoder):
    """Yields the texts of a file: the strings of all keys of its objects, or its lines.

    Args:
      path: Path of the file, of any format of `read_table_lines` and `read_objects`.
      decoder: bert_tf.files.LineDecoder.

    Raises:
      InputError: See `read_rows`.
    """
    with contents.open_content(path) as content:
        found = find_objects(path, content, decoder)
        if found is None:
            for line in decoder.lines(content.file, path):
                yield line.rstrip("\r\n")
        else:
            for _, entry in found:
                yield from objects.list_texts(entry)


def find_objects(path, content, decoder, options=DEFAULT):
    """Returns an iterator of (number, dict) of the objects of a Content.

    Returns None if it is not JSON lines, a JSON array, or Parquet, or if a dialect of delimited
    text is chosen. For arguments, see `read_rows`.
    """
    if content.is_parquet:
        return objects.read_parquet(content.file, path)
    if options.dialect != dialects.AUTO:
        return None
    sample = decode_sample(content)
    if objects.is_json_array(sample):
        return objects.read_json_array(content.file, path)
    is_named = contents.strip_suffix(path).endswith(JSON_LINES)
    if is_named or objects.is_json_lines(sample):
        return objects.read_json_lines(decoder.lines(content.file, path), path)
    return None


def has_objects(path):
    """Returns whether a file is JSON lines, a JSON array, or Parquet."""
    with contents.open_content(path) as content:
        return find_objects(path, content, files.LineDecoder()) is not None


def decode_sample(content):
    """Returns the sample of a Content as text."""
    return content.sample.decode("utf-8-sig", "ignore")


def check_width(path, line, fields, width):
    """Raises InputError with file and line unless a row has `width` fields, as the header has."""
    if len(fields) == width:
        return
    advice = ""
    if len(fields) > width and dialects.is_csv(path):
        advice = "; enclose texts that contain commas in double quotes"
    elif len(fields) > width:
        advice = "; texts cannot contain tabs"
    raise InputError(f"{path}:{line}: must have {width} columns, but has {len(fields)}{advice}")


def list_names(names):
    """Joins names of columns or labels for a message, and quotes ambiguous ones."""
    return ", ".join(
        repr(name) if re.search(r"[\s,]", name) or not name else name for name in names
    )


def find_column(column, header, path):
    """Returns the 0-based position of a column by its name in the header.

    Raises:
      InputError: If the column does not exist, or if several have the name. The message lists the
        names.
    """
    if column not in header:
        raise InputError(
            f"{path}:1: column {column!r} does not exist; must be one of {list_names(header)}"
        )
    if header.count(column) > 1:
        raise InputError(
            f"{path}:1: {header.count(column)} columns have the name {column!r}; rename all but one"
        )
    return header.index(column)


def looks_like_data(rows):
    """Returns whether the first of these rows is data instead of a header.

    It is if it has a number, a long text, or a value that recurs in its column.
    """
    first, *others = rows
    for position, cell in enumerate(first):
        text = cell.strip()
        if _NUMBER.fullmatch(text) or len(text.split()) > MAX_HEADER_WORDS:
            return True
        if text and any(position < len(row) and row[position] == cell for row in others):
            return True
    return False


def advise_columns(path, options=DEFAULT):
    """Returns the end of a message about a missing column: "", or about the missing header."""
    if options.columns:
        return ""
    rows = [
        fields for _, fields in itertools.islice(read_rows(path, None, options), NUM_HEADER_ROWS)
    ]
    if not all(isinstance(cell, str) for row in rows for cell in row) or not looks_like_data(rows):
        return ""
    return (
        "; the first row looks like data: if the file has no header, name its columns, for example "
        f"`columns`={','.join(['text', 'label', 'c', 'd', 'e', 'f'][: len(rows[0])])}"
    )


def _choose_dialect(path, content, options, notes):
    dialect = dialects.parse_dialect(options.dialect)
    if dialect is None:
        dialect = dialects.find_dialect(path, decode_sample(content), content.is_complete)
        note = dialects.describe_dialect(path, dialect)
        if note and notes is not None:
            notes.append(note)
    return dialect


def _add_header(rows, path, columns):
    """Yields rows after a header of `columns`, if there are any."""
    if not columns:
        yield from rows
        return
    columns = list(columns)
    first = next(rows, None)
    yield 0, columns
    if first is None or [cell.strip() for cell in first[1]] == columns:
        yield from rows
        return
    if len(first[1]) != len(columns):
        raise InputError(
            f"must name all {len(first[1])} columns of {path}, which are in the first row "
            f"{list_names(first[1]):.80}",
            "columns",
            tuple(columns),
        )
    yield first
    yield from rows


def _skip_empty_rows(rows, width):
    """Yields the rows without empty lines, which are texts in a table with one column."""
    for number, fields in rows:
        if fields or width == 1:
            yield number, fields or [""]
        width = width or len(fields)


def _to_rows(found, path):
    """Yields the keys of the first object, and the values of all objects."""
    keys = None
    for number, entry in found:
        if keys is None:
            keys = list(entry)
            yield number, keys
        if any(key not in entry for key in keys):
            raise InputError(
                f"{path}:{number}: must be a JSON object with the keys {list_names(keys)}, as in "
                "the first line"
            )
        yield (
            number,
            [
                entry[key] if isinstance(entry[key], list | dict) else objects.to_text(entry[key])
                for key in keys
            ],
        )


def _read_unquoted_rows(lines, delimiter):
    for number, line in enumerate(lines, start=1):
        line = line.rstrip("\r\n")
        yield number, line.split(delimiter) if line else []


def _read_quoted_rows(lines, path, delimiter):
    reader = csv.reader(lines, strict=True, delimiter=delimiter)
    csv.field_size_limit(MAX_FIELD_CHARACTERS)
    try:
        for fields in reader:
            yield reader.line_num, fields
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}: {error}") from error
