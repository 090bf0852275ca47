"""Predictions (dicts from bert_tf.tasks.Kind.rows) as JSON lines or TSV. Does not import TensorFlow."""

import contextlib
import sys

from bert_tf.files import new_file, to_json

STANDARD_OUTPUT = "-"


@contextlib.contextmanager
def writer(path, is_table):
    """Yields a function that writes a row, dict. The file is renamed when the context ends without an error.

    Args:
      path: Path of the file; - for standard output.
      is_table: bool. Whether to write TSV with a header instead of JSON lines.
    """
    with contextlib.nullcontext(sys.stdout) if path == STANDARD_OUTPUT else new_file(path) as file:
        yield (_TableWriter if is_table else _LineWriter)(path, file).write


class _LineWriter:
    """JSON lines."""

    def __init__(self, path, file):
        self._path, self._file = path, file

    def write(self, row):
        """Writes a dict."""
        self._file.write(to_json(self._path, row, ensure_ascii=False) + "\n")


class _TableWriter:
    """Tab-separated values. A dict within a row becomes one column per key; a list stays JSON.

    In texts, a backslash, tab, or line break is escaped as in JSON: \\\\, \\t, \\n, \\r.
    """

    def __init__(self, path, file):
        self._path, self._file = path, file
        self._header = None

    def write(self, row):
        """Writes a dict with the same keys as the first."""
        cells = {}
        for name, value in row.items():
            if isinstance(value, dict):
                cells |= {f"{name}.{key}": each for key, each in value.items()}
            else:
                cells[name] = value
        if self._header is None:
            self._header = list(cells)
            self._file.write("\t".join(map(_escape, self._header)) + "\n")
        self._file.write("\t".join(self._format_cell(cells[name]) for name in self._header) + "\n")

    def _format_cell(self, value):
        return _escape(value) if isinstance(value, str) else to_json(self._path, value, ensure_ascii=False)


def _escape(text):
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
