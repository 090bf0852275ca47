"""The layout of one split of a dataset, and the reader for its rows."""

import dataclasses
import itertools

from bert_tf.errors import InputError
from data_prep.tasks import tables


@dataclasses.dataclass(frozen=True)
class Split:
    """The file of one split and the columns to read.

    A column is a 0-based position (-1 for the last), or a name in the header.

    Attributes:
      file: str. File name in the data directory, in a format that `tables.read_rows` supports.
      text_a: Column of the first text.
      text_b: Column of the second text, or None for single-text tasks.
      label: Column of the label or number, or None if there is none, as in the published test files.
      index: Column of the row's published index, or None for the row's number in the file.
      header: bool. Whether the first row has the column names.
      only: Tuple `(column, value)` to select the rows with that value, or None for all rows.
    """

    file: str
    text_a: int | str
    text_b: int | str | None = None
    label: int | str | None = None
    index: int | str | None = None
    header: bool = True
    only: tuple | None = None


@dataclasses.dataclass(frozen=True)
class Row:
    """The columns that a Split reads; None for absent columns."""

    text_a: str
    text_b: str | None
    label: str | None
    index: str | None


def select_rows(path, layout, skip_broken, decoder=None):
    """Yields (line, number of the row, Row or None for a broken one) of the rows that `only` selects.

    The header is row 0. Without a header, the first row is row 0, as in the original BERT's guids.
    """
    columns = [layout.text_a, layout.text_b, layout.label, layout.index, layout.only and layout.only[0]]
    rows = tables.read_rows(path, decoder)
    first_number, width = 0, None
    if layout.header:
        first_number, header = 1, next(rows, (1, []))[1]
        if any(isinstance(column, str) for column in columns):
            columns = [tables.find_position(column, header, path) if isinstance(column, str) else column
                       for column in columns]
            width = len(header)  # A tab within a text would shift the named columns after it.
    num_required = max(column for column in columns if column is not None) + 1
    for number, (line, fields) in enumerate(rows, start=first_number):
        if width:
            tables.check_width(path, line, fields, width)
        elif len(fields) < num_required:
            if not skip_broken:
                raise InputError(f"{path}:{line}: must have at least {num_required} columns, but has {len(fields)}")
            yield line, number, None
            continue
        *values, key = (None if column is None else fields[column] for column in columns)
        if layout.only is None or key == layout.only[1]:
            yield line, number, Row(*values)


def describe_selection(path, layout):
    """Describes the values in the column of `only` for a file without a matching row; "" without `only`."""
    if layout.only is None:
        return ""
    column, value = layout.only
    others = sorted({fields[column] for _, fields in itertools.islice(tables.read_rows(path), layout.header, None)
                     if len(fields) > column})
    return f" with {value!r} in column {column + 1}, which contains {tables.list_names(others) or 'no values'}"
