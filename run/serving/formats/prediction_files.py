"""Predictions (dicts from bert_tf.tasks.Kind.rows) as JSON lines or TSV. Does not import TensorFlow."""

import contextlib
import sys

from bert_tf.files import new_file, to_json

STANDARD_OUTPUT = "-"


@contextlib.contextmanager
def open_writer(path):
    """Yields a function that writes a row, dict. The file is renamed when the context ends without an error.

    A table is tab-separated values with the header of the first row. A dict within a row becomes one column per key; a
    list stays JSON. In texts, a backslash, tab, or line break is escaped as in JSON: \\\\, \\t, \\n, \\r.

    Args:
      path: Path of the file: a table if it ends in .tsv, otherwise JSON lines; - for standard output.
    """
    is_table, header = path.lower().endswith(".tsv"), []

    def write(row):
        """Writes a row, a dict."""
        if not is_table:
            file.write(to_json(path, row, ensure_ascii=False) + "\n")
            return
        cells = {}
        for name, value in row.items():
            if isinstance(value, dict):
                cells |= {f"{name}.{key}": each for key, each in value.items()}
            else:
                cells[name] = value
        if not header:
            header.extend(cells)
            file.write("\t".join(map(_escape, header)) + "\n")
        texts = [_escape(value) if isinstance(value, str) else to_json(path, value, ensure_ascii=False)
                 for value in (cells[name] for name in header)]
        file.write("\t".join(texts) + "\n")

    with contextlib.nullcontext(sys.stdout) if path == STANDARD_OUTPUT else new_file(path) as file:
        yield write


def _escape(text):
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
