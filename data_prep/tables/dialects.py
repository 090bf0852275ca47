"""Dialects of delimited tables: their delimiter, and whether they have quoted fields.

Python's csv.Sniffer guesses from frequencies of characters, and finds delimiters such as "e" in
short texts. Here, the header determines the delimiter. Fields are quoted only if all quotes of the
first rows are where a writer of quoted fields sets them, and at least one of them must be quoted:
the published files of GLUE have quotes as text.
"""

import csv
import io
import itertools
import re
from typing import NamedTuple

from bert_tf.errors import InputError
from data_prep.tables import contents

AUTO = "auto"
NUM_COMPARED_ROWS = 20


class Dialect(NamedTuple):
    """A dialect of delimited tables.

    Attributes:
      name: str. Value of the setting `table_dialect`.
      delimiter: str. Character between fields.
      has_quotes: bool. Whether fields can have double quotes, in which quotes are doubled, and
        delimiters and line breaks are text.
      description: str. For messages.
    """

    name: str
    delimiter: str
    has_quotes: bool
    description: str


TAB = Dialect("tab", "\t", False, "separated by tabs, without quoted fields")
QUOTED_TAB = Dialect("quoted_tab", "\t", True, "separated by tabs, with quoted fields")
COMMA = Dialect("comma", ",", True, "separated by commas")
SEMICOLON = Dialect("semicolon", ";", True, "separated by semicolons")
DIALECTS = {dialect.name: dialect for dialect in (TAB, QUOTED_TAB, COMMA, SEMICOLON)}

_QUOTED = re.compile(r'"[^"]*"')
# A field as writers of quoted tables write it, and its end.
_TAB_FIELD = re.compile(r'(?:"((?:[^"]|"")*+)"|[^"\t\r\n]*)(\t|\r?\n|\Z)')
_UNCLOSED_FIELD = re.compile(r'"(?:[^"]|"")*+\Z')


def is_csv(path):
    """Returns whether the name of a file is the name of a CSV file."""
    return contents.strip_suffix(path).endswith(".csv")


def get_usual_dialect(path):
    """Returns the dialect of a file by its name."""
    return COMMA if is_csv(path) else TAB


def find_dialect(path, sample, is_complete):
    """Finds the dialect of a table from its header and first rows.

    Args:
      path: Path of the file. A name that ends in .csv favors commas, other names favor tabs.
      sample: str. The first rows.
      is_complete: bool. Whether the sample contains all rows.

    Returns:
      Dialect.
    """
    header = _QUOTED.sub("", next(filter(str.strip, io.StringIO(sample)), ""))
    if is_csv(path):
        delimiter = next((each for each in (",", ";", "\t") if each in header), ",")
    elif "\t" in header:
        delimiter = "\t"
    else:
        delimiter = next((each for each in (",", ";") if _divides_rows(sample, each)), "\t")
    if delimiter != "\t":
        return COMMA if delimiter == "," else SEMICOLON
    return QUOTED_TAB if _has_quoted_fields(sample, is_complete) else TAB


def describe_dialect(path, dialect):
    """Returns a note about a dialect that differs from the usual one of the name, or None."""
    usual = get_usual_dialect(path)
    if dialect == usual or (usual, dialect) == (COMMA, SEMICOLON):
        return None
    return (
        f"note: {path}: is read as a table {dialect.description}; "
        f"--table_dialect={usual.name} reads it otherwise"
    )


def _divides_rows(sample, delimiter):
    """Returns whether a delimiter divides the header and the first rows into as many fields."""
    reader = csv.reader(io.StringIO(sample, newline=""), strict=True, delimiter=delimiter)
    try:
        rows = list(itertools.islice(filter(None, reader), NUM_COMPARED_ROWS))
    except csv.Error:
        return False
    widths = set(map(len, rows))
    return len(rows) > 1 and len(widths) == 1 and widths.pop() > 1


def _has_quoted_fields(sample, is_complete):
    """Returns whether the fields of a table with tabs are quoted if they have to be."""
    if '"' not in sample:
        return False
    widths = set()
    width = num_quoted = position = 0
    must_be_quoted = all_quoted_header = False
    while position < len(sample):
        match = _TAB_FIELD.match(sample, position)
        if not match:
            if is_complete or not _UNCLOSED_FIELD.match(sample, position):
                return False
            break
        text, end = match.groups()
        width += 1
        if text is not None:
            num_quoted += 1
            must_be_quoted |= bool(re.search('""|[\t\n]', text))
        position = match.end()
        if end == "\t":
            continue
        if position < len(sample) or is_complete:
            if not widths:
                all_quoted_header = num_quoted == width
            if width > 1 or text:
                widths.add(width)
        width = 0
    return len(widths) == 1 and (must_be_quoted or all_quoted_header)


def parse_dialect(name):
    """Returns the Dialect of a name, or None for AUTO; raises InputError for another name."""
    if name == AUTO:
        return None
    if name not in DIALECTS:
        raise InputError(f"must be {AUTO}, {', '.join(DIALECTS)}", "table_dialect", name)
    return DIALECTS[name]
