"""Arrays of varying length on disk, one per row of some data.

They are a teacher's outputs, or an encoder's embeddings.

A directory has one subdirectory per set of data and settings, named with a fingerprint of both. It
contains one file per name, which is the concatenation of the rows' arrays, and values.json, which
describes them. The subdirectory is complete if values.json exists. The files are in the order of
the data and are read at any row, which a shuffled TFRecord would not allow.
"""

import contextlib
import dataclasses
import hashlib
import json
import math
import os

import numpy as np

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.files.local import convert_write_errors

FINGERPRINT_DIGITS = 16
# After the names of all other files, so it is the last one that is uploaded.
METADATA_FILE = "values.json"


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
        """Returns the offset of each row's array in the file, and the end of the last.

        The result is int64 [n + 1], in elements.
        """
        fixed = math.prod(size for size in self.shape if size >= 0)
        sizes = fixed * np.asarray(lengths, np.int64) ** sum(size < 0 for size in self.shape)
        return np.concatenate([[0], np.cumsum(sizes)])


class StoredRows:
    """Files of a directory of arrays: raw values in NAME.bin.

    Args:
      folder: Path of the directory.
      entries: Dict of name to Entry.
      lengths: int [n]. Length of each row.
    """

    def __init__(self, folder, entries, lengths):
        self.entries = entries
        self.lengths = lengths
        self._folder = folder
        self._offsets = {name: entry.get_offsets(lengths) for name, entry in entries.items()}
        # A remote file is copied once. The copy exists as long as this object.
        self._open = contextlib.ExitStack()
        self._values = {}

    def get_path(self, name):
        """Returns the path of a name's file."""
        return os.path.join(self._folder, f"{name}.bin")

    def open(self, consequence):
        """Maps all files, and returns this object.

        Args:
          consequence: Infinitive for error messages: the effect of deleting the directory.

        Raises:
          InputError: If a file is missing or damaged.
        """
        for name, entry in self.entries.items():
            path = self.get_path(name)
            stored = files.at(path)
            dtype = np.dtype(entry.dtype)
            if not stored.exists() or stored.size() != self._offsets[name][-1] * dtype.itemsize:
                raise InputError(
                    f"{path}: is missing or corrupted; delete {self._folder} to {consequence}"
                )
            self._values[name] = np.memmap(
                self._open.enter_context(stored.local_copy()), dtype, "r"
            )
        return self

    def look_up(self, rows, length):
        """Reads rows, int [B], as a list of arrays [B, ...].

        The arrays are in the order of `entries`, padded with zeros.
        """
        arrays = []
        for name, entry in self.entries.items():
            values = np.zeros([len(rows), *entry.get_shape(int(length))], entry.dtype)
            for number, row in enumerate(rows):
                shape = entry.get_shape(self.lengths[row])
                start, stop = self._offsets[name][row : row + 2]
                values[(number, *map(slice, shape))] = self._values[name][start:stop].reshape(shape)
            arrays.append(values)
        return arrays

    def write(self, parts):
        """Writes all files to the local directory, which exists. See the function `write`."""
        with contextlib.ExitStack() as opened:
            opened_files = {
                name: opened.enter_context(open(self.get_path(name), "wb")) for name in self.entries
            }
            for rows, arrays in parts:
                for name, entry in self.entries.items():
                    dtype = np.dtype(entry.dtype)
                    file = opened_files[name]
                    for row, array in zip(rows, arrays[name], strict=True):
                        row_values = array[tuple(map(slice, entry.get_shape(self.lengths[row])))]
                        file.seek(self._offsets[name][row] * dtype.itemsize)
                        file.write(row_values.astype(dtype).tobytes())


class StackedRows:
    """Rows of a StoredRows, stacked on axis 2, instead of an array.

    Its entries have the same shape [-1, ...].

    Attributes:
      dtype: NumPy dtype.
      shape: (n, S, K, ...), where S is the length of the longest row.
    """

    def __init__(self, stored):
        self._stored = stored
        first, *_ = stored.entries.values()
        self.dtype = np.dtype(first.dtype)
        self.shape = (
            len(stored.lengths),
            int(max(stored.lengths)),
            len(stored.entries),
            *first.shape[1:],
        )

    def read(self, rows, length):
        """Reads rows, int [B]: array [B, length, columns, ...], padded with zeros."""
        return np.stack(self._stored.look_up(rows, length), axis=2)


def find_subfolder(folder, metadata):
    """Returns the path of a subdirectory, which may not exist.

    `metadata`: JSON value that the rows depend on.
    """
    digest = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode()).hexdigest()
    return os.path.join(folder, digest[:FINGERPRINT_DIGITS])


def is_complete(path):
    """Returns whether a subdirectory exists with all of its files."""
    return files.at(os.path.join(path, METADATA_FILE)).exists()


def write(path, metadata, entries, lengths, parts):
    """Writes a subdirectory, all of it or nothing.

    Args:
      path: Path from `find_subfolder`. Its parents are created if necessary.
      metadata: Dict to save in values.json.
      entries: Dict of name to Entry.
      lengths: int [n]. Length of each row.
      parts: Iterable of (row numbers, dict of name to sequence of arrays) that contains every row
        once. An array may be longer than its row.

    Raises:
      InputError: If another process is writing to the subdirectory.
    """
    files.at(os.path.dirname(path)).make_dirs()
    if files.at(path).exists():  # Its upload was interrupted.
        files.at(path).remove_tree()
    with files.new_folder(path) as folder, convert_write_errors(path):
        StoredRows(folder, entries, lengths).write(parts)
        with open(os.path.join(folder, METADATA_FILE), "w", encoding="utf-8") as file:
            json.dump(
                {
                    **metadata,
                    "entries": {name: dataclasses.asdict(entry) for name, entry in entries.items()},
                },
                file,
                indent=2,
            )
