"""Vectors of words that an encoder gave, kept on disk and read row by row; see run.arrays.kept_rows.

`vectors.json` tells what they are of. Beside it is a file for each layer that was asked for, float16 [words, H] in the
order of the data, which appears when it is complete.

Shape legend: K layers, H width of the encoder.
"""

import contextlib
import json
import os

import numpy as np

from bert_tf import files
from bert_tf.errors import InputError
from run.arrays.kept_rows import Entry, KeptRows, StackedRows

DTYPE = np.dtype(np.float16)  # half the memory, and no classifier sees the difference
TOLD_FILE, LAYER_FILE = "vectors.json", "layer_{}.npy"


def read(folder, layers, lengths, width):
    """Opens the vectors of rows of words.

    Args:
      folder: of `write`.
      layers: those to read, tuple of int.
      lengths: int [n], words of each row; together all words of the files.
      width: H.

    Returns:
      RowsOnDisk, float16 [n, longest row, K, H].

    Raises:
      InputError: a file is missing or damaged.
    """
    return StackedRows(_make_rows(folder, layers, lengths, width).open("the vectors are computed again"))


def missing(folder, layers):
    """Those of `layers` that a folder lacks, tuple of int."""
    return tuple(layer for layer in layers if not files.exists(os.path.join(folder, LAYER_FILE.format(layer))))


def write(folder, told, layers, lengths, width, parts):
    """Writes vectors of layers, all of them whole, or none.

    Args:
      folder: of `run.arrays.kept_rows.find`, made if missing.
      told: dict to keep in vectors.json.
      layers: tuple of int.
      lengths: int [n], words of each row of the encoder.
      width: H.
      parts: iterable of (numbers of rows, list of arrays [words, K, H], one for each), together every row once.

    Raises:
      InputError: the disk has not enough space, or another process writes there.
    """
    kept = _make_rows(folder, layers, lengths, width)
    with files.folder_for(folder), files.only_writer("vectors_dir", folder), contextlib.ExitStack() as unfinished:
        with files.new_file(os.path.join(folder, TOLD_FILE)) as file:
            json.dump(told, file, indent=2)
        paths = {layer: unfinished.enter_context(files.new_local_file(kept.get_path(layer))) for layer in layers}
        place = os.path.dirname(paths[layers[0]])
        if lacking := kept.count_missing_bytes(place):
            needed, free = lacking
            raise InputError(f"`vectors_dir`: {place}: {needed / 1e6:,.0f} MB are needed, and {free / 1e6:,.0f} are "
                             "free; choose another folder")
        kept.write(paths, ((rows, {layer: [of_row[:, number] for of_row in vectors]
                                   for number, layer in enumerate(layers)}) for rows, vectors in parts))


def _make_rows(folder, layers, lengths, width):
    return KeptRows(folder, LAYER_FILE, dict.fromkeys(layers, Entry([-1, width], DTYPE.name)), lengths)
