"""Files of requests: lines of text, JSON lines, and tables. Does not import TensorFlow.

A request is a dict of the names of a model's inputs to texts: {"text": "..."}, {"question": "...", "context": "..."},
{"text_a": "...", "choices": ["...", "..."]}.
"""

import re
import sys

from bert_tf import files
from bert_tf.errors import InputError
from data_prep.tasks import tables

TABLES = (".tsv", ".csv")  # Ends of the names of tables.
STANDARD_INPUT = "-"
LIST_INPUT = "choices"  # The only input that is a list of texts.
SEPARATOR = " ||| "  # Between the two texts of a pair on a line.


def split_pair(text):
    """Splits a text at the last SEPARATOR, as the original BERT does.

    Returns:
      Tuple `(text_a, text_b)`, two str. `text_b` is None for a single text.
    """
    text_a, separator, text_b = text.rpartition(SEPARATOR)
    return (text_a, text_b) if separator else (text, None)


def drop_invalid_bytes(text):
    """Drops invalid UTF-8 bytes, which Python represents as surrogates, from an argument, as the tokenizer does."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "ignore")


def read(path, text_inputs, columns=(), decoder=None):
    """Yields the requests of a file, in its order.

    Args:
      path: Path of the file; - for lines of standard input.
      text_inputs: Names of the model's inputs, in order.
      columns: Names of the columns or keys for the inputs, in the order of `text_inputs`. If empty, the names of the
        inputs. Additional columns are texts of "choices".
      decoder: bert_tf.files.LineDecoder, which drops invalid UTF-8 bytes and counts their lines. May be None.

    Raises:
      InputError: If lines cannot represent the model's inputs, or if the file is invalid, with file and line.
    """
    text_inputs, decoder = list(text_inputs), decoder or files.LineDecoder()
    check(path, text_inputs, columns)
    read_file = _read_rows if _is_table(path) else _read_objects if _has_objects(path) else _read_lines
    yield from read_file(path, text_inputs, columns, decoder)


def check(path, text_inputs, columns=()):
    """Runs the checks that are possible before the first row is read.

    Args:
      path, columns: See `read`.
      text_inputs: See `read`; None if they are not known before the model is loaded.

    Raises:
      InputError: If the table lacks a column, or if the inputs do not fit into lines.
    """
    if columns and text_inputs:
        takes_list = _is_table(path) and text_inputs[-1] == LIST_INPUT
        if len(columns) < len(text_inputs) or (len(columns) > len(text_inputs) and not takes_list):
            raise InputError(f"`columns`={','.join(columns)}: the model requires {', '.join(text_inputs)}; set "
                             f"{'at least ' * takes_list}{len(text_inputs)} columns")
    if _has_objects(path):
        return
    if _is_table(path):
        header = tables.read_header(path)
        if text_inputs:
            _find_positions(path, header, text_inputs, columns)
        for column in columns:
            tables.find_position(column, header, path)
    elif columns:
        raise InputError("has no effect on lines of text; use a table (.tsv, .csv) or JSON lines (.jsonl)", "columns",
                         tuple(columns))
    elif text_inputs and (len(text_inputs) > 2 or LIST_INPUT in text_inputs):
        raise InputError(f"`input_file`={path}: the model requires {' and '.join(text_inputs)}, which do not fit "
                         "on a line; use a table (.tsv, .csv) or JSON lines (.jsonl)")


def _is_table(path):
    return path.lower().endswith(TABLES)


def _has_objects(path):
    return path.lower().endswith(tables.JSON_LINES)


def _read_lines(path, text_inputs, _, decoder):
    """Yields one text per line, or two separated by ` ||| `. An empty line is an empty text, to keep line numbers."""
    with sys.stdin.buffer if path == STANDARD_INPUT else files.at(path).open() as file:
        for number, line in enumerate(decoder.lines(file, path), start=1):
            text = line.rstrip("\r\n")
            texts = [text] if len(text_inputs) == 1 else split_pair(text)
            if None in texts:
                raise InputError(f"{path}:{number}: the model requires {' and '.join(text_inputs)}, separated by "
                                 "` ||| `")
            yield dict(zip(text_inputs, texts, strict=True))


def _read_rows(path, text_inputs, columns, decoder):
    rows = tables.read_rows(path, decoder)
    header = next(rows, (0, []))[1]
    positions = _find_positions(path, header, text_inputs, columns)
    for number, fields in rows:
        tables.check_width(path, number, fields, len(header))
        values = {name: [fields[place] for place in places] for name, places in positions.items()}
        yield {name: texts if name == LIST_INPUT else texts[0] for name, texts in values.items()}


def _read_objects(path, text_inputs, columns, decoder):
    keys = dict(zip(text_inputs, columns or text_inputs, strict=True))
    for number, row in tables.read_objects(path, decoder):
        yield {name: _get_value(row, name, key, f"{path}:{number}") for name, key in keys.items()}


def _get_value(row, name, key, place):
    """Returns the text, or the list of texts, of a key of a JSON object; raises InputError for anything else."""
    if key not in row:
        raise InputError(f"{place}: has no key {key!r}; the keys are {tables.list_names(row)}")
    value = row[key]
    if name == LIST_INPUT:
        if not (isinstance(value, list) and value and all(isinstance(each, str) for each in value)):
            raise InputError(f"{place}: {key} is {value!r:.60}; must be a list of strings")
    elif not isinstance(value, str):
        raise InputError(f"{place}: {key} is {value!r:.60}; must be a string")
    return value


def _find_positions(path, header, text_inputs, columns):
    """Returns dict of input to the positions of its columns; "choices" has all columns named choice and a number."""
    if not any(header):
        raise InputError(f"{path}: has no header; the first line must name the columns")
    if columns:
        places = [tables.find_position(column, header, path) for column in columns]
        first = len(text_inputs) - 1
        return {**{name: [place] for name, place in zip(text_inputs[:first], places, strict=False)},
                text_inputs[-1]: places[first:]}
    positions = {}
    for name in text_inputs:
        positions[name] = [place for place, column in enumerate(header) if column == name or (
            name == LIST_INPUT and re.fullmatch(r"choice_?\d+", column))]
        if not positions[name]:
            raise InputError(f"{path}:1: has no column {name!r}; the columns are {tables.list_names(header)}; set "
                             "`columns`")
    return positions
