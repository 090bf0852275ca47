"""Files of requests: lines of text, JSON, and tables. Does not import TensorFlow.

A request has the texts of a model's inputs: {"text": "..."}, {"question": "...", "context": "..."},
{"text_a": "...", "choices": ["...", "..."]}.
"""

import contextlib
import dataclasses
import itertools
from typing import NamedTuple

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.notes import write_line
from data_prep import tables
from data_prep.datasets import own_columns
from data_prep.tables import contents, dialects, rows

TABLES = (".tsv", ".csv")  # Ends of the names of tables.
LIST_INPUT = "choices"  # The only input that is a list of texts.
PAIR = ("text_a", "text_b")  # The inputs of models of pairs.
SEPARATOR = " ||| "  # Between the two texts of a pair on a line.
TABLE_FORMATS = "use a table (.tsv, .csv), JSON lines, or Parquet"  # For messages.
ALL_COLUMNS = "*"
FORMATS = (  # For help texts.
    "a table with a header, separated by tabs (.tsv) or by commas with quotes (.csv); JSON lines, "
    "a JSON array of objects, or Parquet; otherwise one text per line, or two separated by "
    "` ||| `. It can be compressed with gzip. - for standard input"
)
# Common names of the columns of texts, for models with these inputs.
COMMON_NAMES = {
    ("text",): tuple((name,) for name in (*own_columns.TEXTS, "tokens", "words")),
    ("text_a", "text_b"): (
        ("sentence1", "sentence2"),
        ("premise", "hypothesis"),
        ("question1", "question2"),
        ("question", "sentence"),
        ("sent1", "sent2"),
    ),
}


class Request(NamedTuple):
    """The texts of a row, and its columns to copy to the predictions.

    Attributes:
      inputs: Dict of the name of an input of the model to a text, or a list of texts.
      copied: Dict of the name of a column to a value of JSON.
    """

    inputs: dict
    copied: dict


@dataclasses.dataclass(frozen=True)
class RequestOptions:
    """Options for reading a file of requests.

    Attributes:
      columns: Tuple of str. Columns or keys of the inputs, in their order. Additional columns are
        texts of "choices". If the first row is data: names of all columns. By default, the names of
        the inputs, or COMMON_NAMES.
      id_columns: Tuple of str. Columns to copy to the predictions; ALL_COLUMNS for all.
      dialect: str. See `tables.TableOptions`.
    """

    columns: tuple = ()
    id_columns: tuple = ()
    dialect: str = dialects.AUTO


DEFAULT = RequestOptions()


class Table(NamedTuple):
    """An open table.

    Attributes:
      header: List of str. Names of the columns.
      rows: Iterator of (line number, dict of a column to its cell).
      noun: str. "column" or "key", for messages.
      has_header: bool. Whether the file has the names of the columns.
    """

    header: list
    rows: object
    noun: str
    has_header: bool = True


class OpenedFile(NamedTuple):
    """An open file of requests.

    Attributes:
      requests: Iterator of the Requests of a table, or None for lines of text.
      lines: Iterator of the lines of text, str with their ends.
    """

    requests: object
    lines: object


def split_pair(text):
    """Splits a text at the last SEPARATOR, as the original BERT does.

    Returns:
      Tuple `(text_a, text_b)`, two str. `text_b` is None for a single text.
    """
    text_a, separator, text_b = text.rpartition(SEPARATOR)
    return (text_a, text_b) if separator else (text, None)


def drop_invalid_bytes(text):
    """Drops invalid UTF-8 bytes from an argument, as the tokenizer does.

    Python represents them as surrogates."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "ignore")


def read(path, text_inputs, options=DEFAULT):
    """Yields the Requests of a file, in its order.

    The content determines the format: Parquet, a JSON array, JSON lines, or a table whose name ends
    in one of TABLES or whose header has the columns; otherwise lines of text. Invalid UTF-8 bytes
    are dropped, with a note at the end.

    Args:
      path: Path of the file, which can be compressed with gzip; - for standard input.
      text_inputs: Names of the model's inputs, in order.
      options: RequestOptions.

    Raises:
      InputError: If lines cannot represent the model's inputs, or if the file is invalid, with file
        and line.
    """
    text_inputs = list(text_inputs)
    with open_requests(path, text_inputs, options) as opened:
        if opened.requests is None:
            _check_lines(path, text_inputs)
            yield from _read_lines(path, opened.lines, text_inputs)
        else:
            yield from opened.requests


def read_texts(path, options=DEFAULT):
    """Yields (text_a, text_b) of each row or line of a file; see `read`.

    If a row has only one text, text_b is empty. A table has the columns text_a and text_b or the
    two of `options.columns`, or one text. A line is read like in `read_examples` of the original
    BERT: without white space at both ends, and split at the last SEPARATOR. An empty line is an
    empty text, so line numbers are unchanged.
    """
    with open_requests(path, ["text"], options, allows_pairs=True) as opened:
        if opened.requests is None:
            for line in opened.lines:
                text_a, text_b = split_pair(line.strip())
                yield text_a, text_b or ""
        else:
            for request in opened.requests:
                text_a, text_b = [*request.inputs.values(), ""][:2]
                yield text_a, text_b


@contextlib.contextmanager
def open_requests(path, text_inputs, options=DEFAULT, allows_pairs=False):
    """Provides the OpenedFile of a file of requests, with a note at the end; see `read`.

    Args:
      path, text_inputs, options: See `read`.
      allows_pairs: bool. Whether a table has pairs instead of `text_inputs`, ["text"], if it has
        the columns of PAIR or `options.columns` are two.
    """
    decoder = files.LineDecoder()
    with contents.open_content(path) as content:
        table = _open_table(path, content, text_inputs, options, decoder)
        requests = None
        if table is None:
            _check_options_of_lines(options)
        else:
            has_pairs = len(options.columns) == len(PAIR) or (
                not options.columns and {*PAIR} <= {*table.header}
            )
            inputs = list(PAIR) if allows_pairs and has_pairs else text_inputs
            requests = _read_rows(path, table, inputs, options)
        yield OpenedFile(requests, decoder.lines(content.file, path))
    decoder.tell(path)


def _open_table(path, content, text_inputs, options, decoder):
    """Returns the Table of a Content, or None for lines of text."""
    table_options = tables.TableOptions(options.dialect)
    objects = rows.find_objects(path, content, decoder, table_options)
    if objects is not None:
        first = next(objects, None)
        objects = itertools.chain([first] if first else [], objects)
        return Table(list(first[1]) if first else list(text_inputs), objects, "key")
    is_named = contents.strip_suffix(path).endswith(TABLES) or options.dialect != dialects.AUTO
    if not is_named and not _has_header(path, content, options.columns or text_inputs):
        return None
    notes = []
    lines = rows.read_delimited_rows(path, content, decoder, table_options, notes)
    header = next(lines, (0, []))
    _print_notes(notes)
    if not any(header[1]):
        raise InputError(f"{path}: has no header; the first line must name the columns")
    if not _lacks_header(header[1], options.columns):
        return Table(header[1], _to_dicts(path, lines, header[1]), "column")
    columns = list(options.columns)
    _print_notes([f"note: {path}: has no header; its columns are {tables.list_names(columns)}"])
    lines = itertools.chain([header], lines)
    return Table(columns, _to_dicts(path, lines, columns), "column", has_header=False)


def _has_header(path, content, columns):
    """Returns whether text in a file without the name of a table begins with these columns."""
    sample = rows.decode_sample(content)
    dialect = dialects.find_dialect(path, sample, content.is_complete)
    first = next(iter(sample.split("\n")), "").rstrip("\r")
    header = [name.strip('"') for name in first.split(dialect.delimiter)]
    return len(header) > 1 and {*columns} <= {*header}


def _lacks_header(header, columns):
    """Returns whether the first row is data, and the setting names all columns."""
    is_named = any(column in header for column in columns)
    return len(columns) == len(header) and not is_named and rows.looks_like_data([header])


def _to_dicts(path, lines, header):
    for number, fields in lines:
        tables.check_width(path, number, fields, len(header))
        yield number, dict(zip(header, fields, strict=True))


def _check_options_of_lines(options):
    """Raises InputError if the options are for tables."""
    for argument, columns in (("columns", options.columns), ("id_column", options.id_columns)):
        if columns:
            raise InputError(
                f"has no effect on lines of text; {TABLE_FORMATS}", argument, tuple(columns)
            )


def _check_lines(path, text_inputs):
    """Raises InputError if lines of text cannot represent the inputs."""
    if len(text_inputs) > 2 or LIST_INPUT in text_inputs:
        raise InputError(
            f"the model requires {' and '.join(text_inputs)}, which do not fit on a line; "
            f"{TABLE_FORMATS}",
            "input_file",
            path,
        )


def _read_lines(path, lines, text_inputs):
    """Yields one text per line, or two separated by ` ||| `.

    An empty line is an empty text, to keep line numbers.
    """
    for number, line in enumerate(lines, start=1):
        text = line.rstrip("\r\n")
        texts = [text] if len(text_inputs) == 1 else split_pair(text)
        if None in texts:
            raise InputError(
                f"{path}:{number}: the model requires {' and '.join(text_inputs)}, separated by "
                "` ||| `"
            )
        yield Request(dict(zip(text_inputs, texts, strict=True)), {})


def _read_rows(path, table, text_inputs, options):
    """Yields the Requests of a Table."""
    columns = _choose_columns(path, table, text_inputs, options.columns)
    copied = options.id_columns
    if ALL_COLUMNS in copied:
        copied = tuple(table.header)
    for column in copied:
        _check_column(path, table, column, "id_column")
    cells = tables.CellReader(path)
    last = len(text_inputs) - 1
    for number, row in table.rows:
        for column in (*columns, *copied):
            if column not in row:
                raise InputError(
                    f"{path}:{number}: has no key {column!r}; the keys are {tables.list_names(row)}"
                )
        if text_inputs[last] == LIST_INPUT:
            texts = [cells.read_text(row[column], number, column) for column in columns[:last]]
            choices = [row[column] for column in columns[last:]]
            if table.noun == "key" and len(choices) == 1:
                texts.append(_read_list(path, number, columns[last], *choices))
            else:
                texts.append([cells.read_text(cell, number, columns[last]) for cell in choices])
        else:
            texts = [cells.read_text(row[column], number, column) for column in columns]
        yield Request(
            dict(zip(text_inputs, texts, strict=True)), {column: row[column] for column in copied}
        )
    _print_notes(cells.notes)


def _read_list(path, number, column, value):
    """Returns a value, or raises InputError unless it is a list of texts."""
    if value and isinstance(value, list) and all(isinstance(choice, str) for choice in value):
        return value
    raise InputError(f"{path}:{number}: {column} is {value!r:.60}; must be a list of strings")


def _choose_columns(path, table, text_inputs, columns):
    """Returns the columns of the inputs, a tuple of str; see `RequestOptions.columns`."""
    if not table.has_header and len(columns) > len(text_inputs):
        columns = ()
    takes_list = text_inputs[-1] == LIST_INPUT
    if columns and (
        len(columns) < len(text_inputs) or (len(columns) > len(text_inputs) and not takes_list)
    ):
        bound = "at least " if takes_list else ""
        raise InputError(
            f"the model requires {', '.join(text_inputs)}; set {bound}{len(text_inputs)} columns",
            "columns",
            ",".join(columns),
        )
    if not columns:
        columns = tuple(text_inputs)
        if not {*columns} <= {*table.header}:
            columns = _find_common_names(path, table.header, columns)
    for column in columns:
        _check_column(path, table, column, "columns")
    return tuple(columns)


def _find_common_names(path, header, text_inputs):
    """Returns the columns with COMMON_NAMES of the inputs, or the names of the inputs."""
    simple = [name.strip().lower() for name in header]
    for names in COMMON_NAMES.get(text_inputs, ()):
        if {*names} <= {*simple}:
            columns = tuple(header[simple.index(name)] for name in names)
            _print_notes([f"note: {path}: reading {tables.list_names(columns)} as the texts"])
            return columns
    return text_inputs


def _check_column(path, table, column, argument):
    """Raises InputError unless a Table has exactly one column of a name."""
    if column not in table.header:
        raise InputError(
            f"{path}:1: has no {table.noun} {column!r}; the {table.noun}s are "
            f"{tables.list_names(table.header)}; set `{argument}`"
        )
    if table.header.count(column) > 1:
        raise InputError(
            f"{path}:1: {table.header.count(column)} columns have the name {column!r}; rename all "
            "but one"
        )


def _print_notes(notes):
    for note in notes:
        write_line(note)
