"""Metrics by step in CSV files: `training_log.csv` and `eval_log.csv`."""

import csv
import io
import os

from bert_tf import files
from bert_tf.errors import InputError

TRAINING_LOG = "training_log.csv"
EVALUATION_LOG = "eval_log.csv"


def check(folder):
    """Raises InputError if a log in a run's directory is damaged."""
    for name in (TRAINING_LOG, EVALUATION_LOG):
        path = os.path.join(folder, name)
        if files.at(path).exists():
            _read(path)


class Log:
    """Metrics by step, in a CSV file that a resumed run continues.

    Rows are appended to a local file immediately. A remote file does not support this; `write` rewrites it.

    Args:
      folder: Path of the run's directory.
      name: File name.
      first_step: int. Step at which the run resumes. Later rows, from a run killed after its last checkpoint, are
        dropped.
      writes: bool. Whether to write the file. With several workers, one writes.
    """

    def __init__(self, folder, name, first_step, writes=True):
        self._path = os.path.join(folder, name)
        self._writes = writes
        self._is_remote = files.is_remote(self._path)
        exists = files.at(self._path).exists()
        rows = _read(self._path) if exists else []
        self.rows = [row for row in rows if row["step"] <= first_step]
        self._is_written = True
        if exists and not self._is_remote:
            self._rewrite()

    def add(self, step, values):
        """Adds a row, and appends it to a local file. `values`: Dict of name to float."""
        self.rows.append({"step": step, **values})
        self._is_written = False
        if self._is_remote:
            return
        if self.rows[-1].keys() != self.rows[0].keys() or len(self.rows) == 1:
            self._rewrite()
        elif self._writes:
            self._append()

    def write(self):
        """Writes a remote file if it lacks rows."""
        if self._is_remote and not self._is_written:
            self._rewrite()
        self._is_written = True

    def _append(self):
        try:
            with open(self._path, "a", newline="", encoding="utf-8") as file:
                csv.DictWriter(file, self.rows[0]).writerow(self.rows[-1])
        except OSError as error:  # The error of a full disk, for example, does not name the file.
            raise OSError(f"{self._path}: cannot be written: {error.strerror}") from error

    def curves(self):
        """Returns dict of name to `(steps, values)`, two sequences."""
        names = dict.fromkeys(name for row in self.rows for name in row if name != "step")
        return {name: tuple(zip(*((row["step"], row[name]) for row in self.rows if name in row), strict=True))
                for name in names}

    def _rewrite(self):
        if not self._writes:
            return
        with files.new_file(self._path, newline="") as file:
            writer = csv.DictWriter(file, dict.fromkeys(name for row in self.rows or [{"step": 0}] for name in row))
            writer.writeheader()
            writer.writerows(self.rows)


def _read(path):
    """Returns the rows of a log as a list of dicts; raises InputError if the file is not a log."""
    lines = io.StringIO(files.read_text(path), newline="")
    complete = [line for line in lines if line.endswith("\n")]  # Drops an incomplete last line of a killed run.
    try:
        rows = [{name: int(value) if name == "step" else float(value) for name, value in row.items() if value != ""}
                for row in csv.DictReader(complete) if None not in row.values()]
    except (ValueError, TypeError, csv.Error) as error:  # TypeError: more values than names.
        raise InputError(f"{path}: is not a log of a run: {error}; move the file to continue without it") from error
    if any("step" not in row for row in rows):
        raise InputError(f"{path}: is not a log of a run: it has no column step; move the file to continue without it")
    return rows
