"""Writer for TFRecord files from batches of numbers, without TensorFlow."""

import functools
import hashlib
import os

import numpy as np

from bert_tf.errors import InputError
from bert_tf.files import new_file
from data_prep.records.frames import (
    MAX_HEADER_BYTES,
    Layout,
    Numbers,
    create_checksum_tables,
    write_frames,
)


class RecordWriter:
    """Writes records to a TFRecord file that appears under its name only when it is complete.

    A context manager: if an exception leaves it, the partial file is removed. `path` may be any
    path that TensorFlow can write to (gs://...).

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
        """Writes a batch of records; `columns`: dict of feature name to [B, length] array."""
        data = compose_frames(columns, self.features)
        self._file.write(data)
        self.sha256.update(data)
        self.num_bytes += len(data)
        self.num_records += len(columns[self.features[0].name])


def compose_frames(columns, features):
    """Composes the frames of a batch of records.

    Args:
      columns: Dict of feature name to [B, length] array. Numbers of an int64 feature are not
        negative.
      features: Sequence of Feature.

    Returns:
      memoryview of the bytes.

    Raises:
      InputError: If a column has a wrong shape or contains a negative number.
      ValueError: If the columns have different numbers of records.
    """
    _check_columns(columns, features)
    num_records = len(columns[features[0].name])
    ints = _join(
        [columns[feature.name] for feature in features if not feature.is_float],
        num_records,
        np.int64,
    )
    floats = _join(
        [columns[feature.name] for feature in features if feature.is_float], num_records, "<f4"
    )
    numbers = Numbers(ints, floats.view(np.uint8))
    layout = _create_layout(tuple(features))
    widest = -(-int(ints.max(initial=1)).bit_length() // 7)
    max_header_bytes = len(layout.names) + MAX_HEADER_BYTES * (len(features) + 1)
    max_record_bytes = ints.shape[1] * widest + numbers.float_bytes.shape[1] + max_header_bytes
    out = np.empty(num_records * max_record_bytes, np.uint8)
    size = write_frames(
        numbers, layout, create_checksum_tables(), np.empty(len(features), np.int64), out
    )
    return memoryview(out[:size])


def _check_columns(columns, features):
    for feature in features:
        values = np.asarray(columns[feature.name])
        if values.ndim != 2 or values.shape[1] != feature.length:
            raise InputError(
                f"{feature.name} has shape {list(values.shape)}; must be [batch, {feature.length}]"
            )
        if not feature.is_float and values.size and values.min() < 0:
            raise InputError(f"{feature.name} contains {values.min()}; must not be negative")


def _join(columns, num_records, dtype):
    """Joins a list of columns, which can be empty: [B, sum of their lengths]."""
    return np.concatenate(
        [np.zeros((num_records, 0), dtype), *columns], axis=1, dtype=dtype, casting="unsafe"
    )


@functools.cache
def _create_layout(features):
    """Creates the Layout of a tuple of Feature."""
    names = [feature.name.encode() for feature in features]
    stops = np.cumsum([len(name) for name in names])
    rows = [
        (feature.is_float, feature.length, stop - len(name), stop)
        for feature, name, stop in zip(features, names, stops, strict=True)
    ]
    return Layout(np.array(rows, np.int64), np.frombuffer(b"".join(names), np.uint8).copy())
