"""Reading of files of rows and lines: one reader for training, prediction, and extraction."""

from data_prep.tables.rows import (
    JSON_LINES,
    check_width,
    find_position,
    is_csv,
    list_names,
    read_lines,
    read_objects,
    read_rows,
)

__all__ = [
    "JSON_LINES",
    "check_width",
    "find_position",
    "is_csv",
    "list_names",
    "read_lines",
    "read_objects",
    "read_rows",
]
