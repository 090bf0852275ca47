"""Metrics of a run by step.

They are in `training_log.csv`, `eval_log.csv`, their plot, and TensorBoard event files.

Remote files cannot be appended to: each addition uploads the entire file. They are therefore only
written with the checkpoints.
"""

import contextlib
import csv
import io
import os

import tensorflow as tf

from bert_tf import files
from bert_tf.errors import InputError
from run.training import plots

TRAINING_LOG = "training_log.csv"
EVALUATION_LOG = "eval_log.csv"
# Number of remote events, and time, that TensorFlow buffers before it writes them.
KEPT_EVENTS = 1 << 20
# TensorFlow converts it to microseconds in an int32: over half an hour.
KEPT_MILLISECONDS = (1 << 31) // 1000 - 1


class Logs:
    """The logs of a run, which a resumed run continues.

    Args:
      folder: Path of the run's directory.
      first_step: int. Step at which the run resumes.
      writes: bool. Whether to write files. With several workers, one writes.

    Attributes:
      training, evaluations: Log.
    """

    def __init__(self, folder, first_step, writes):
        self.training = Log(folder, TRAINING_LOG, first_step, writes)
        self.evaluations = Log(folder, EVALUATION_LOG, first_step, writes)
        self._folder = folder
        self._writes = writes
        self._writers = {}

    def add_training(self, step, values, speeds):
        """Adds values of the last steps, and their speeds, which only TensorBoard shows.

        `values`, `speeds`: Dicts of name to float.
        """
        self.training.add(step, values)
        self._add_events("", step, values | speeds)

    def add_evaluation(self, step, results):
        """Adds and writes the results of an evaluation, dict of name to float."""
        self._add_events("eval", step, results)
        self.evaluations.add(step, results)
        self.evaluations.write()

    def write(self):
        """Writes all additions to remote files."""
        self.training.write()
        for writer in self._writers.values():
            writer.write()

    def record_profile(self, is_due):
        """Returns a context that records a profile for TensorBoard if it is due."""
        if not (self._writes and is_due):
            return contextlib.nullcontext()
        print(
            f"{self._folder}: writing a profile; to view it, run tensorboard "
            f"--logdir={self._folder}"
        )
        return tf.profiler.experimental.Profile(self._folder)

    def plot_curves(self):
        """Plots loss.png."""
        if self._writes:
            plots.loss_curves(self._folder, self.training, self.evaluations)

    def _add_events(self, part, step, values):
        """Adds scalars for TensorBoard.

        TensorBoard shows the scalars of a subdirectory `part` as a separate curve.
        """
        if not self._writes:
            return
        if part not in self._writers:
            self._writers[part] = _create_writer(os.path.join(self._folder, part).rstrip("/"))
        with self._writers[part].as_default(step):  # flushes at its end
            for name, value in values.items():
                tf.summary.scalar(name, value)


def _create_writer(path):
    """Creates a writer of events, with a method `write`.

    The events of a remote file wait for it.
    """
    if not files.is_remote(path):
        writer = tf.summary.create_file_writer(path)
        writer.write = lambda: None
        return writer
    writer = tf.summary.create_file_writer(
        path, max_queue=KEPT_EVENTS, flush_millis=KEPT_MILLISECONDS
    )
    writer.write = writer.flush
    writer.flush = lambda: None
    return writer


class Log:
    """Metrics by step, in a CSV file that a resumed run continues.

    Rows are appended to a local file immediately; `write` rewrites a remote file.

    Args:
      folder: Path of the run's directory.
      name: File name.
      first_step: int. Step at which the run resumes. Later rows, from a run killed after its last
        checkpoint, are dropped.
      writes: bool. Whether to write the file. With several workers, one writes.
    """

    def __init__(self, folder, name, first_step, writes=True):
        self._path = os.path.join(folder, name)
        self._writes = writes
        self._is_remote = files.is_remote(self._path)
        exists = files.at(self._path).exists()
        rows = _read(self._path) if exists else []
        self.rows = [row for row in rows if row["step"] <= first_step]
        if exists and not self._is_remote:
            self._rewrite()

    def add(self, step, values):
        """Adds a row, and appends it to a local file. `values`: Dict of name to float."""
        self.rows.append({"step": step, **values})
        if self._is_remote:
            return
        if self.rows[-1].keys() != self.rows[0].keys() or len(self.rows) == 1:
            self._rewrite()
        elif self._writes:
            self._append()

    def write(self):
        """Writes a remote file."""
        if self._is_remote and self.rows:
            self._rewrite()

    def _append(self):
        try:
            with open(self._path, "a", newline="", encoding="utf-8") as file:
                csv.DictWriter(file, self.rows[0]).writerow(self.rows[-1])
        except OSError as error:  # The error of a full disk, for example, does not name the file.
            raise OSError(f"{self._path}: cannot be written: {error.strerror}") from error

    def curves(self):
        """Returns dict of name to `(steps, values)`, two sequences."""
        names = dict.fromkeys(name for row in self.rows for name in row if name != "step")
        return {
            name: tuple(
                zip(*((row["step"], row[name]) for row in self.rows if name in row), strict=True)
            )
            for name in names
        }

    def _rewrite(self):
        if not self._writes:
            return
        with files.new_file(self._path, newline="") as file:
            writer = csv.DictWriter(
                file, dict.fromkeys(name for row in self.rows or [{"step": 0}] for name in row)
            )
            writer.writeheader()
            writer.writerows(self.rows)


def _read(path):
    """Returns the rows of a log as a list of dicts; raises InputError if the file is not a log."""
    lines = io.StringIO(files.read_text(path), newline="")
    # Drops an incomplete last line of a killed run.
    complete = [line for line in lines if line.endswith("\n")]
    try:
        return [
            {
                "step": int(row.pop("step")),
                **{name: float(value) for name, value in row.items() if value != ""},
            }
            for row in csv.DictReader(complete)
            if None not in row.values()
        ]
    # TypeError: more values than names.
    except (ValueError, TypeError, KeyError, csv.Error) as error:
        raise InputError(
            f"{path}: is not a log of a run: {error}; move the file to continue without it"
        ) from error
