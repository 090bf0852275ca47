"""Writer for TFRecord files from batches of numbers, without TensorFlow."""

import hashlib
import os

from bert_tf.files import new_file
from data_prep.records.frames import compose_frames


class RecordWriter:
    """Writes records to a TFRecord file that appears under its name only when it is complete.

    A context manager: if an exception leaves it, the partial file is removed. `path` may be any path that TensorFlow
    can write to (gs://...).

        with RecordWriter(path, classification_features(128)) as writer:
            writer.write(columns)

    Attributes:
      path: str. Path of the file.
      features: Tuple of Feature.
      num_records, num_bytes: int. Totals written to date.
      sha256: hashlib object. Digest of the bytes written to date.

    Raises:
      OSError: On construction or exit, if the file cannot be written. The message names the file.
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
        """Writes a batch of records. `columns`: Dict of feature name to [B, length] array of numbers."""
        data = compose_frames(columns, self.features)
        self._file.write(data)
        self.sha256.update(data)
        self.num_bytes += len(data)
        self.num_records += len(columns[self.features[0].name])
