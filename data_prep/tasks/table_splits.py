"""The rows of one split of a data set, as data_prep.tasks.glue.Split describes them."""

import dataclasses
import itertools

from bert_tf.errors import InputError
from data_prep.tasks import tables


@dataclasses.dataclass(frozen=True)
class Row:
    """The columns that a Split reads; None for one that it has not."""

    text_a: str
    text_b: str | None
    label: str | None
    index: str | None


def selected_rows(path, layout, skip_broken, decoder=None):
    """Yields (line, number of the row, Row or None for a broken one) of the rows that `only` selects.

    The header is row 0, and where there is none, the first row is, as in the original's guids.
    """
    columns = [layout.text_a, layout.text_b, layout.label, layout.index, layout.only and layout.only[0]]
    rows = tables.read_rows(path, decoder)
    first_number, width = 0, None
    if layout.header:
        first_number, header = 1, next(rows, (1, []))[1]
        if any(isinstance(column, str) for column in columns):
            columns = [tables.position(column, header, path) if isinstance(column, str) else column
                       for column in columns]
            width = len(header)  # a tab within a text would shift the named columns after it
    needed = max(column for column in columns if column is not None) + 1
    for number, (line, fields) in enumerate(rows, start=first_number):
        if len(fields) < needed or (width and len(fields) != width):
            if not skip_broken:
                raise InputError(f"{path}:{line}: {width or f'at least {needed}'} columns are expected, "
                                 f"{len(fields)} found")
            yield line, number, None
            continue
        *values, key = (None if column is None else fields[column] for column in columns)
        if layout.only is None or key == layout.only[1]:
            yield line, number, Row(*values)


def not_selected(path, layout):
    """For a file of which no row has the value that `only` selects: which have others; "" without `only`."""
    if layout.only is None:
        return ""
    column, value = layout.only
    others = sorted({fields[column] for _, fields in itertools.islice(tables.read_rows(path), layout.header, None)
                     if len(fields) > column})
    return f" with {value!r} in column {column + 1}, which has {', '.join(others) or 'none'}"
