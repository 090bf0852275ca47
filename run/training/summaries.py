"""TensorBoard event files of a training run."""

import os

import tensorflow as tf

from bert_tf import files

# Number of events, and time, that TensorFlow buffers before it writes them.
KEPT_EVENTS = 1 << 20
KEPT_MILLISECONDS = (1 << 31) // 1000 - 1  # TensorFlow converts it to microseconds in an int32: over half an hour.


class Summaries:
    """Writes scalars for TensorBoard: local files at once, remote files when `write` is called.

    Each addition to a remote file uploads the entire file.

    Args:
      folder: Path of the run's directory; None writes nothing.
      step: tf.Variable, the step counter.
    """

    def __init__(self, folder, step):
        self._folder = folder
        self._step = step
        self._is_remote = folder is not None and files.is_remote(folder)
        self._writers, self._flushes = {}, []

    def add(self, values, part=""):
        """Adds scalars at the current step.

        Args:
          values: Dict of name to float.
          part: Name of a subdirectory, which TensorBoard shows as a separate curve.
        """
        if self._folder is None:
            return
        if part not in self._writers:
            self._writers[part] = self._create_writer(os.path.join(self._folder, part).rstrip("/"))
        with self._writers[part].as_default():  # flushes at its end
            for name, value in values.items():
                tf.summary.scalar(name, value, step=self._step)

    def _create_writer(self, path):
        if not self._is_remote:
            return tf.summary.create_file_writer(path)
        writer = tf.summary.create_file_writer(path, max_queue=KEPT_EVENTS, flush_millis=KEPT_MILLISECONDS)
        self._flushes.append(writer.flush)
        writer.flush = lambda: None
        return writer

    def write(self):
        """Uploads the additions to remote files."""
        for flush in self._flushes:
            flush()
