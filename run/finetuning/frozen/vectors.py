"""Vectors of words that an encoder gave, kept on disk and read row by row.

A folder of vectors has a folder for each encoder and data, named by a fingerprint of both. In it lie `vectors.json`,
which tells what they are of, and a file for each layer that was asked for, float16 [words, H] in the order of the
data, which appears when it is whole.

Shape legend: T words of a file, K layers, H width of the encoder.
"""

import contextlib
import hashlib
import itertools
import json
import os
import shutil
import zipfile

import numpy as np

from bert_tf import files
from bert_tf.errors import InputError
from run.arrays.batches import RowsOnDisk

DTYPE = np.dtype(np.float16)  # half the memory, and no classifier sees the difference
TOLD_FILE = "vectors.json"
FINGERPRINT_DIGITS = 16


class KeptVectors(RowsOnDisk):
    """The vectors of rows of words, as they lie on disk.

    Args:
      folder: of `write`.
      layers: those to read, tuple of int.
      lengths: int [n], words of each row; together T.
      width: H.

    Raises:
      InputError: a file is missing or damaged.
    """

    dtype = DTYPE

    def __init__(self, folder, layers, lengths, width):
        self._starts = np.concatenate([[0], np.cumsum(lengths)])
        self.shape = (len(lengths), int(max(lengths)), len(layers), width)
        self._open = contextlib.ExitStack()  # a remote file is copied once; the copy lives as long as this object
        self._layers = []
        for layer in layers:
            path = os.path.join(folder, _file_of(layer))
            try:
                values = np.load(self._open.enter_context(files.local_copy(path)), mmap_mode="r")
                if (values.shape, values.dtype) != ((self._starts[-1], width), DTYPE):
                    raise ValueError(f"it holds {values.dtype} {list(values.shape)}")
            except (OSError, ValueError, EOFError, AttributeError, zipfile.BadZipFile) as error:
                raise InputError(f"{path}: is missing or damaged ({error}); remove {folder}, and the vectors are "
                                 "computed again") from error
            self._layers.append(values)

    def read(self, rows, length):
        """See RowsOnDisk: float16 [B, length, K, H]."""
        found = np.zeros([len(rows), length, *self.shape[2:]], DTYPE)
        for (place, row), (layer, values) in itertools.product(enumerate(rows), enumerate(self._layers)):
            start, stop = self._starts[row : row + 2]
            found[place, : stop - start, layer] = values[start:stop]
        return found


def find(folder, told):
    """The path of vectors in a folder of them, whether or not they are there; told: dict of what they are of."""
    digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
    return os.path.join(folder, digest[:FINGERPRINT_DIGITS])


def missing(folder, layers):
    """Those of `layers` that a folder of `find` lacks, tuple of int."""
    return tuple(layer for layer in layers if not files.exists(os.path.join(folder, _file_of(layer))))


def write(folder, told, layers, lengths, width, parts):
    """Writes vectors of layers, all of them whole, or none.

    Args:
      folder: of `find`, made if missing.
      told: dict to keep in vectors.json.
      layers: tuple of int.
      lengths: int [n], words of each row of the encoder.
      width: H.
      parts: iterable of (numbers of rows, list of arrays [words, K, H], one for each), together every row once.

    Raises:
      InputError: the disk has not enough space, or another process writes there.
    """
    starts = np.concatenate([[0], np.cumsum(lengths)])
    shape = (int(starts[-1]), width)
    with files.folder_for(folder), files.only_writer("vectors_dir", folder), contextlib.ExitStack() as unfinished:
        with files.new_file(os.path.join(folder, TOLD_FILE)) as file:
            json.dump(told, file, indent=2)
        places = [unfinished.enter_context(files.new_local_file(os.path.join(folder, _file_of(layer))))
                  for layer in layers]
        _check_space(os.path.dirname(places[0]), len(layers) * shape[0] * width * DTYPE.itemsize)
        values = [np.lib.format.open_memmap(place, "w+", DTYPE, shape) for place in places]
        for rows, vectors in parts:
            for row, of_row in zip(rows, vectors, strict=True):
                for number, of_layer in enumerate(values):
                    of_layer[starts[row] : starts[row + 1]] = of_row[:, number]
        for of_layer in values:
            of_layer.flush()


def _file_of(layer):
    return f"layer_{layer}.npy"


def _check_space(folder, needed):
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise InputError(f"`vectors_dir`: {folder}: {needed / 1e6:,.0f} MB are needed, and {free / 1e6:,.0f} are free; "
                         "choose another folder")
