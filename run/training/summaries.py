"""TensorBoard's files of a training run."""

import os

import orbit
import tensorflow as tf

from bert_tf import files

# How many events, and how long, TensorFlow keeps in memory before it writes them of its own accord.
KEPT_EVENTS = 1 << 20
KEPT_MILLISECONDS = (1 << 31) // 1000 - 1  # of which it makes microseconds as an int32: over half an hour


class Summaries(orbit.utils.SummaryManager):
    """Writes scalars for TensorBoard: local files as they come, remote ones when `write` is called.

    Each time that something is added to a remote file, all of it is uploaded.

    Args:
      folder: of the run; None writes nothing.
      global_step: tf.Variable.
    """

    def __init__(self, folder, global_step):
        super().__init__(folder, tf.summary.scalar, global_step)
        self._folder = folder
        self._is_remote = folder is not None and files.is_remote(folder)
        self._writers, self._flushes = {}, []

    def summary_writer(self, relative_path=""):
        """Called by orbit; the tf.summary writer of a folder in the run's."""
        if not self._is_remote:
            return super().summary_writer(relative_path)
        if relative_path not in self._writers:
            writer = tf.summary.create_file_writer(
                os.path.join(self._folder, relative_path).rstrip("/"), max_queue=KEPT_EVENTS,
                flush_millis=KEPT_MILLISECONDS)
            self._flushes.append(writer.flush)
            writer.flush = lambda: None  # called at the end of each `with writer.as_default()`
            self._writers[relative_path] = writer
        return self._writers[relative_path]

    def flush(self):
        """Called by orbit after each loop of steps."""
        if not self._is_remote:
            super().flush()

    def write(self):
        """Writes what remote files lack."""
        for flush in self._flushes:
            flush()
