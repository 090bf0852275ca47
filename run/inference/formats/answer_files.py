"""What a model answered, dicts of bert_tf.tasks.Kind.rows, as JSON lines or as TSV. Free of TensorFlow."""

import contextlib
import json
import sys

from bert_tf.files import new_file

STANDARD_OUTPUT = "-"


@contextlib.contextmanager
def writer(path, is_table):
    """A function that writes a row, dict; the file appears under its name when the context ends without an error.

    Args:
      path: of the file; - for standard output.
      is_table: whether it is TSV, with a header; else JSON lines.
    """
    with contextlib.nullcontext(sys.stdout) if path == STANDARD_OUTPUT else new_file(path) as file:
        yield _TableWriter(file).write if is_table else _LineWriter(file).write


class _LineWriter:
    """JSON lines."""

    def __init__(self, file):
        self._file = file

    def write(self, row):
        """Writes a dict."""
        self._file.write(json.dumps(row, ensure_ascii=False) + "\n")


class _TableWriter:
    """Tab-separated values; a dict within a row becomes a column for each of its keys, a list stays JSON.

    In texts a backslash, tab or line break is written as in JSON: \\\\, \\t, \\n, \\r.
    """

    def __init__(self, file):
        self._file = file
        self._header = None

    def write(self, row):
        """Writes a dict, of the keys of the first."""
        cells = {}
        for name, value in row.items():
            if isinstance(value, dict):
                cells |= {f"{name}.{key}": each for key, each in value.items()}
            else:
                cells[name] = value
        if self._header is None:
            self._header = list(cells)
            self._file.write("\t".join(map(_escaped, self._header)) + "\n")
        self._file.write("\t".join(_cell(cells[name]) for name in self._header) + "\n")


def _cell(value):
    return _escaped(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _escaped(text):
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
