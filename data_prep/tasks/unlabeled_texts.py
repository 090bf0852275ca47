"""Texts without labels, for which the outputs of a teacher are computed."""

from bert_tf.errors import InputError
from bert_tf.files import LineDecoder
from bert_tf.notes import write_line
from data_prep import tables
from data_prep.datasets import own_columns
from data_prep.tables import dialects


def read(path, is_pair, text_a_column=None, text_b_column=None):
    """Reads the texts of a file.

    JSON, Parquet, and a file named *.csv have columns. Others have one text per line, or two
    separated by a tab.

    Args:
      path: Path of the file.
      is_pair: bool. Whether the teacher requires two texts per row.
      text_a_column, text_b_column: str or None. Columns of the texts. By default, the first one has
        a common name; see `own_columns.find_columns`.

    Returns:
      Tuple `(text_a, text_b)`, lists of str; `text_b` is None for single texts.

    Raises:
      InputError: If the file is invalid, or if its rows do not have the required texts.
    """
    if dialects.is_csv(path) or tables.has_objects(path):
        rows = _read_columns(path, is_pair, text_a_column, text_b_column)
    else:
        rows = _read_lines(path, is_pair)
    texts = [list(column) for column in zip(*rows, strict=True)] or [[], []]
    return texts[0], texts[1] if is_pair else None


def _read_columns(path, is_pair, text_a_column, text_b_column):
    """Returns the list of the list of texts of each row of a table with a header."""
    if is_pair and not text_b_column:
        raise InputError(
            "the teacher requires two texts, whose columns its training data does not have; write "
            "them on lines, separated by a tab",
            "unlabeled_file",
            path,
        )
    text_a, _ = own_columns.find_columns(
        path, text_a_column, text_b_column, has_labels=False, has_settings=False
    )
    columns = [text_a, text_b_column] if is_pair else [text_a]
    decoder = LineDecoder()
    notes = []
    rows = tables.read_rows(path, decoder, notes=notes)
    _, header = next(rows)
    positions = [tables.find_column(column, header, path) for column in columns]
    cells = tables.CellReader(path)
    texts = []
    for line, fields in rows:
        tables.check_width(path, line, fields, len(header))
        texts.append([cells.read_text(fields[at], line, header[at]) for at in positions])
    decoder.tell(path)
    for note in [*notes, *cells.notes]:
        write_line(note)
    return texts


def _read_lines(path, is_pair):
    """Returns the list of the list of texts of each line that is not empty."""
    decoder = LineDecoder()
    lines = (line.rstrip("\r\n") for line in tables.read_table_lines(path, decoder))
    rows = [line.split("\t") for line in lines if line.strip()]
    decoder.tell(path)
    for number, row in enumerate(rows, 1):
        if len(row) != 1 + is_pair:
            required = "two texts, separated by a tab," if is_pair else "one text"
            raise InputError(
                f"text {number} has {len(row)} columns, but the teacher requires {required} "
                "per line",
                "unlabeled_file",
                path,
            )
    return rows
