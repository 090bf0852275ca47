"""Files of requests: lines, TSV and CSV with a header, JSON lines. Does not import TensorFlow.

A request is a dict of the names of a model's inputs to texts: {"text": "..."}, {"question": "...", "context": "..."},
{"text_a": "...", "choices": ["...", "..."]}.
"""

import json
import os
import re
import sys

from bert_tf import files
from bert_tf.errors import InputError
from data_prep.tasks import tables

FORMATS = ("lines", "tsv", "jsonl")
FORMATS_BY_EXTENSION = {".tsv": "tsv", ".csv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
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


def find_format(path, file_format=None):
    """Returns the format of a file, "lines", "tsv", or "jsonl", as given or by its extension."""
    return file_format or FORMATS_BY_EXTENSION.get(os.path.splitext(path)[1].lower(), "lines")


def read(path, text_inputs, columns=(), file_format=None, decoder=None):
    """Yields the requests of a file, in its order.

    Args:
      path: Path of the file; - for standard input, but not for a table.
      text_inputs: Names of the model's inputs, in order.
      columns: Names of the columns or keys for the inputs, in the order of `text_inputs`. If empty, the names of the
        inputs. Additional columns are texts of "choices".
      file_format: One of FORMATS. None uses the format of the extension.
      decoder: bert_tf.files.LineDecoder, which drops invalid UTF-8 bytes and counts their lines. May be None.

    Raises:
      InputError: If lines cannot represent the model's inputs, or if the file is invalid, with file and line.
    """
    text_inputs, decoder = list(text_inputs), decoder or files.LineDecoder()
    check(path, text_inputs, columns, file_format)
    kind = find_format(path, file_format)
    if kind == "tsv":
        yield from _read_rows(path, text_inputs, columns, decoder)
    elif kind == "jsonl":
        yield from _read_objects(path, text_inputs, columns, decoder)
    else:
        yield from _read_lines(path, text_inputs, decoder)


def check(path, text_inputs, columns=(), file_format=None):
    """Runs the checks that are possible before the first row is read.

    Args:
      path, columns, file_format: See `read`.
      text_inputs: See `read`; None if they are not known before the model is loaded.

    Raises:
      InputError: If the table is standard input, it lacks a column, or the inputs do not fit into lines.
    """
    kind = find_format(path, file_format)
    if kind == "tsv" and path == STANDARD_INPUT:
        raise InputError("`input_format`=tsv: cannot be read from standard input; set a file")
    if kind == "lines" and columns:
        raise InputError("has no effect on lines of text; set `input_format`, or use a table (.tsv, .csv) or JSON "
                         "lines (.jsonl)", "columns", tuple(columns))
    if text_inputs:
        _check_columns(text_inputs, columns, takes_list=kind == "tsv" and text_inputs[-1] == LIST_INPUT)
    if kind == "lines" and text_inputs and (len(text_inputs) > 2 or LIST_INPUT in text_inputs):
        raise InputError(f"`input_file`={path}: the model requires {' and '.join(text_inputs)}, which do not fit "
                         "on a line; use a table (.tsv, .csv) or JSON lines (.jsonl)")
    if kind == "tsv" and text_inputs:
        _find_positions(path, tables.read_header(path), text_inputs, columns)
    elif kind == "tsv":
        for column in columns:
            tables.find_position(column, tables.read_header(path), path)


def _check_columns(text_inputs, columns, takes_list):
    """Raises InputError unless there is a column for each input, or `columns` is empty.

    With `takes_list`, the last input can have several columns.
    """
    if not columns:
        return
    if len(columns) < len(text_inputs) or (len(columns) > len(text_inputs) and not takes_list):
        raise InputError(f"`columns`={','.join(columns)}: the model requires {', '.join(text_inputs)}; set "
                         f"{'at least ' * takes_list}{len(text_inputs)} columns")


def _read_lines(path, text_inputs, decoder):
    """Yields one text per line, or two separated by ` ||| `. An empty line is an empty text, to keep line numbers."""
    for number, line in _enumerate_lines(path, decoder):
        text = line.rstrip("\r\n")
        if len(text_inputs) == 1:
            yield {text_inputs[0]: text}
            continue
        pair = split_pair(text)
        if pair[1] is None:
            raise InputError(f"{path}:{number}: the model requires {' and '.join(text_inputs)}, separated by "
                             "` ||| `")
        yield dict(zip(text_inputs, pair, strict=True))


def _read_rows(path, text_inputs, columns, decoder):
    rows = tables.read_rows(path, decoder)
    header = next(rows, (0, []))[1]
    positions = _find_positions(path, header, text_inputs, columns)
    for number, fields in rows:
        tables.check_width(path, number, fields, len(header))
        values = {name: [fields[place] for place in places] for name, places in positions.items()}
        yield {name: texts if name == LIST_INPUT else texts[0] for name, texts in values.items()}


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


def _read_objects(path, text_inputs, columns, decoder):
    keys = dict(zip(text_inputs, columns or text_inputs, strict=False))
    for number, line in _enumerate_lines(path, decoder):
        if not line.strip():
            continue
        try:
            values = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}:{number}: is not valid JSON: {error}") from error
        if not isinstance(values, dict):
            raise InputError(f"{path}:{number}: must be a JSON object")
        yield {name: _get_value(values, name, key, f"{path}:{number}") for name, key in keys.items()}


def _get_value(values, name, key, place):
    if key not in values:
        raise InputError(f"{place}: has no key {key!r}; the keys are {tables.list_names(values)}")
    value = values[key]
    if name == LIST_INPUT:
        if not (isinstance(value, list) and value and all(isinstance(each, str) for each in value)):
            raise InputError(f"{place}: {key} is {value!r:.60}; must be a list of strings")
    elif not isinstance(value, str):
        raise InputError(f"{place}: {key} is {value!r:.60}; must be a string")
    return value


def _enumerate_lines(path, decoder):
    with sys.stdin.buffer if path == STANDARD_INPUT else files.at(path).open() as file:
        yield from enumerate(decoder.lines(file, path), start=1)
