"""Files of requests: lines of text, JSON lines, and tables. Does not import TensorFlow.

A request is a dict of the names of a model's inputs to texts: {"text": "..."}, {"question": "...",
"context": "..."}, {"text_a": "...", "choices": ["...", "..."]}.
"""

import sys

from bert_tf import files
from bert_tf.errors import InputError
from data_prep import tables

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
    """Drops invalid UTF-8 bytes from an argument, as the tokenizer does.

    Python represents them as surrogates."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "ignore")


def read(path, text_inputs, columns=()):
    """Yields the requests of a file, in its order.

    Invalid UTF-8 bytes are dropped, with a note at the end.

    Args:
      path: Path of the file; - for lines of standard input.
      text_inputs: Names of the model's inputs, in order.
      columns: Names of the columns or keys for the inputs, in the order of `text_inputs`. If empty,
        the names of the inputs. Additional columns are texts of "choices".

    Raises:
      InputError: If lines cannot represent the model's inputs, or if the file is invalid, with file
        and line.
    """
    text_inputs = list(text_inputs)
    decoder = files.LineDecoder()
    is_table = path.lower().endswith(TABLES)
    takes_list = is_table and text_inputs[-1] == LIST_INPUT
    if columns and (
        len(columns) < len(text_inputs) or (len(columns) > len(text_inputs) and not takes_list)
    ):
        bound = "at least " if takes_list else ""
        raise InputError(
            f"`columns`={','.join(columns)}: the model requires {', '.join(text_inputs)}; set "
            f"{bound}{len(text_inputs)} columns"
        )
    if is_table:
        yield from _read_rows(path, text_inputs, columns or text_inputs, decoder)
    elif path.lower().endswith(tables.JSON_LINES):
        yield from _read_objects(path, text_inputs, columns or text_inputs, decoder)
    elif columns:
        raise InputError(
            "has no effect on lines of text; use a table (.tsv, .csv) or JSON lines (.jsonl)",
            "columns",
            tuple(columns),
        )
    elif len(text_inputs) > 2 or LIST_INPUT in text_inputs:
        raise InputError(
            f"`input_file`={path}: the model requires {' and '.join(text_inputs)}, which do not "
            "fit on a line; use a table (.tsv, .csv) or JSON lines (.jsonl)"
        )
    else:
        yield from _read_lines(path, text_inputs, decoder)
    decoder.tell(path)


def _read_lines(path, text_inputs, decoder):
    """Yields one text per line, or two separated by ` ||| `.

    An empty line is an empty text, to keep line numbers.
    """
    with sys.stdin.buffer if path == STANDARD_INPUT else files.at(path).open() as file:
        for number, line in enumerate(decoder.lines(file, path), start=1):
            text = line.rstrip("\r\n")
            texts = [text] if len(text_inputs) == 1 else split_pair(text)
            if None in texts:
                raise InputError(
                    f"{path}:{number}: the model requires {' and '.join(text_inputs)}, separated "
                    "by ` ||| `"
                )
            yield dict(zip(text_inputs, texts, strict=True))


def _read_rows(path, text_inputs, columns, decoder):
    rows = tables.read_rows(path, decoder)
    header = next(rows, (0, []))[1]
    if not any(header):
        raise InputError(f"{path}: has no header; the first line must name the columns")
    for column in columns:
        if column not in header:
            raise InputError(
                f"{path}:1: has no column {column!r}; the columns are "
                f"{tables.list_names(header)}; set `columns`"
            )
    places = [header.index(column) for column in columns]
    last = len(text_inputs) - 1
    for number, fields in rows:
        tables.check_width(path, number, fields, len(header))
        texts = [fields[place] for place in places]
        if text_inputs[last] == LIST_INPUT:
            texts[last:] = [texts[last:]]
        yield dict(zip(text_inputs, texts, strict=True))


def _read_objects(path, text_inputs, columns, decoder):
    for number, row in tables.read_objects(path, decoder):
        yield {
            name: _get_value(row, name, key, f"{path}:{number}")
            for name, key in zip(text_inputs, columns, strict=True)
        }


def _get_value(row, name, key, place):
    """Returns the text, or the list of texts, of a key of a JSON object.

    Raises InputError for anything else.
    """
    if key not in row:
        raise InputError(f"{place}: has no key {key!r}; the keys are {tables.list_names(row)}")
    value = row[key]
    if name == LIST_INPUT:
        if not (isinstance(value, list) and value and all(isinstance(each, str) for each in value)):
            raise InputError(f"{place}: {key} is {value!r:.60}; must be a list of strings")
    elif not isinstance(value, str):
        raise InputError(f"{place}: {key} is {value!r:.60}; must be a string")
    return value
