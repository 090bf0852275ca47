"""Reading of files of rows and lines: one reader for training, prediction, and extraction."""

from data_prep.tables.cells import CellReader
from data_prep.tables.contents import read_json_value, read_table_lines
from data_prep.tables.rows import (
    DEFAULT,
    PUBLISHED,
    TableOptions,
    advise_columns,
    check_width,
    find_column,
    has_objects,
    list_names,
    read_all_texts,
    read_objects,
    read_rows,
)

__all__ = [
    "DEFAULT",
    "PUBLISHED",
    "CellReader",
    "TableOptions",
    "advise_columns",
    "check_width",
    "find_column",
    "has_objects",
    "list_names",
    "read_all_texts",
    "read_json_value",
    "read_objects",
    "read_rows",
    "read_table_lines",
]
