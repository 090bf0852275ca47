"""Arrays of varying length on disk, one per row of some data: a teacher's outputs, an encoder's embeddings.

A directory has one subdirectory per set of data and settings, named with a fingerprint of both. It contains one file
per name, which is the concatenation of the rows' arrays.
"""

import contextlib
import dataclasses
import hashlib
import json
import math
import os
import shutil
import zipfile

import numpy as np

from bert_tf import files
from bert_tf.errors import InputError
from run.arrays.batches import RowsOnDisk

FINGERPRINT_DIGITS = 16
UNREADABLE = (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile)


@dataclasses.dataclass(frozen=True)
class Entry:
    """The array of each row under one name.

    Attributes:
      shape: List of int. Shape of a row's array; -1 for an axis that is as long as the row.
      dtype: Name of a NumPy dtype.
    """

    shape: list
    dtype: str

    def get_shape(self, length):
        """Returns the shape for a row of a length."""
        return [length if size < 0 else size for size in self.shape]

    def get_offsets(self, lengths):
        """Returns int64 [n + 1]: the offset of each row's array in the file, and the end of the last, in elements."""
        fixed = math.prod(size for size in self.shape if size >= 0)
        sizes = fixed * np.asarray(lengths, np.int64) ** sum(size < 0 for size in self.shape)
        return np.concatenate([[0], np.cumsum(sizes)])


class StoredRows:
    """Files of a directory of arrays.

    Args:
      folder: Path of the directory.
      file_name: Pattern of the file names: "{}.bin" for raw values, "layer_{}.npy" for NumPy's format, in which all
        axes except the first belong to a row.
      entries: Dict of name to Entry.
      lengths: int [n]. Length of each row.
    """

    def __init__(self, folder, file_name, entries, lengths):
        self.entries, self.lengths = entries, lengths
        self._folder, self._file_name, self._is_numpy = folder, file_name, file_name.endswith(".npy")
        self._offsets = {name: entry.get_offsets(lengths) for name, entry in entries.items()}
        self._open = contextlib.ExitStack()  # A remote file is copied once. The copy exists as long as this object.
        self._values = {}

    def get_path(self, name):
        """Returns the path of a name's file."""
        return os.path.join(self._folder, self._file_name.format(name))

    def open(self, consequence):
        """Maps all files, and returns this object.

        Args:
          consequence: Infinitive for error messages: the effect of deleting the directory.

        Raises:
          InputError: If a file is missing or damaged.
        """
        for name in self.entries:
            path = self.get_path(name)
            try:
                self._values[name] = self._map(name, path)
            except UNREADABLE as error:
                detail = f" ({error})" if str(error) else ""
                raise InputError(f"{path}: is missing or corrupted{detail}; delete {self._folder} to "
                                 f"{consequence}") from error
        return self

    def look_up(self, rows, length):
        """Reads rows, int [B]: list of arrays [B, ...] in the order of `entries`, padded with zeros."""
        arrays = []
        for name, entry in self.entries.items():
            values = np.zeros([len(rows), *entry.get_shape(int(length))], entry.dtype)
            for number, row in enumerate(rows):
                shape = entry.get_shape(self.lengths[row])
                start, stop = self._offsets[name][row : row + 2]
                values[(number, *map(slice, shape))] = self._values[name][start:stop].reshape(shape)
            arrays.append(values)
        return arrays

    def find_missing_space(self, folder):
        """Returns (required bytes, free bytes) if the values do not fit on the disk of `folder`, otherwise None."""
        required = sum(int(self._offsets[name][-1]) * np.dtype(entry.dtype).itemsize
                       for name, entry in self.entries.items())
        free = shutil.disk_usage(folder).free
        return (required, free) if required > free else None

    def write(self, paths, parts):
        """Writes all values.

        Args:
          paths: Dict of name to path of the local file to create.
          parts: Iterable of (row numbers, dict of name to sequence of arrays) that contains every row once. An array
            may be longer than its row.
        """
        values = {name: self._create(name, path) for name, path in paths.items()}
        for rows, arrays in parts:
            for name, entry in self.entries.items():
                for row, array in zip(rows, arrays[name], strict=True):
                    row_values = array[tuple(map(slice, entry.get_shape(self.lengths[row])))]
                    values[name][self._offsets[name][row] : self._offsets[name][row + 1]] = row_values.ravel()
        for array in values.values():
            array.flush()

    def _get_format(self, name):
        """Returns the dtype and the shape of a file's values."""
        entry, size = self.entries[name], int(self._offsets[name][-1])
        shape = entry.shape[1:] if self._is_numpy else []
        return np.dtype(entry.dtype), (size // math.prod(shape), *shape)

    def _map(self, name, path):
        """Returns the values of a file as a flat array."""
        dtype, shape = self._get_format(name)
        place = files.at(path)
        if self._is_numpy:
            values = np.load(self._open.enter_context(place.local_copy()), mmap_mode="r")
            if (values.dtype, values.shape) != (dtype, shape):
                raise ValueError(f"contains {values.dtype} {list(values.shape)}")
            return values.reshape(-1)
        if not place.exists() or place.size() != shape[0] * dtype.itemsize:
            raise ValueError
        return np.memmap(self._open.enter_context(place.local_copy()), dtype, "r")

    def _create(self, name, path):
        """Creates a file and returns its values as a flat, writable array."""
        create = np.lib.format.open_memmap if self._is_numpy else np.memmap
        dtype, shape = self._get_format(name)
        return create(path, mode="w+", dtype=dtype, shape=shape).reshape(-1)


class StackedRows(RowsOnDisk):
    """Rows of a StoredRows whose entries have the same shape [-1, ...], stacked on axis 2."""

    def __init__(self, stored):
        self._stored = stored
        first, *_ = stored.entries.values()
        self.dtype = np.dtype(first.dtype)
        self.shape = (len(stored.lengths), int(max(stored.lengths)), len(stored.entries), *first.shape[1:])

    def read(self, rows, length):
        """See RowsOnDisk. Shape: [B, length, K, ...]."""
        return np.stack(self._stored.look_up(rows, length), axis=2)


def find_subfolder(folder, metadata):
    """Returns the path of a subdirectory, which may not exist. `metadata`: JSON value that the rows depend on."""
    digest = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode()).hexdigest()
    return os.path.join(folder, digest[:FINGERPRINT_DIGITS])
