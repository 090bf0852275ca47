"""Batches of numbers -> records in a TFRecord file, without TensorFlow."""

import hashlib
import os

from bert_tf.files import new_file
from data_prep.records.frames import compose_frames


class RecordWriter:
    """Writes records to a TFRecord file that appears under its name only when it is whole.

    A context manager: leaving it by an exception removes what was written. `path` may be any that TensorFlow
    can write to (gs://...).

        with RecordWriter(path, classification_features(128)) as writer:
            writer.write(columns)

    Attributes:
      path: name of the file.
      features: tuple of Feature.
      num_records, num_bytes: written so far.
      sha256: of the bytes written so far, a hashlib object.

    Raises:
      OSError: when made or left, naming the file, when it cannot be written.
    """

    def __init__(self, path, features):
        self.path = os.fspath(path)
        self.features = tuple(features)
        self.num_records = self.num_bytes = 0
        self.sha256 = hashlib.sha256()
        self._new_file = new_file(self.path, "wb")
        self._file = self._new_file.__enter__()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return self._new_file.__exit__(*exception)

    def write(self, columns):
        """Writes a batch of records. `columns`: dict of feature name -> [B, length] array of numbers."""
        data = compose_frames(columns, self.features)
        self._file.write(data)
        self.sha256.update(data)
        self.num_bytes += len(data)
        self.num_records += len(columns[self.features[0].name])
