"""Word embeddings from an encoder, saved to disk and read row by row. See run.arrays.kept_rows.

`vectors.json` identifies the encoder and the data. Next to it is one file per computed layer, float16 [words, H] in the
order of the data, which exists only when it is complete.

Shape legend: K layers, H hidden size of the encoder.
"""

import contextlib
import json
import os

import numpy as np

from bert_tf import files
from bert_tf.errors import InputError
from run.arrays.kept_rows import Entry, KeptRows, StackedRows

DTYPE = np.dtype(np.float16)  # Half the memory, without an effect on classifiers.
TOLD_FILE, LAYER_FILE = "vectors.json", "layer_{}.npy"


def read(folder, layers, lengths, width):
    """Opens the embeddings of rows of words.

    Args:
      folder: Path of the directory. See `write`.
      layers: Tuple of int. Layers to read.
      lengths: int [n]. Words per row, in total the words of the files.
      width: int. H.

    Returns:
      RowsOnDisk, float16 [n, longest row, K, H].

    Raises:
      InputError: If a file is missing or damaged.
    """
    return StackedRows(_make_rows(folder, layers, lengths, width).open("recompute the features"))


def missing(folder, layers):
    """Returns the layers among `layers` that a directory lacks, tuple of int."""
    return tuple(layer for layer in layers if not files.exists(os.path.join(folder, LAYER_FILE.format(layer))))


def write(folder, told, layers, lengths, width, parts):
    """Writes the embeddings of layers, all of them or none.

    Args:
      folder: Path from `run.arrays.kept_rows.find`, created if it does not exist.
      told: Dict to save in vectors.json.
      layers: Tuple of int.
      lengths: int [n]. Words per row of the encoder.
      width: int. H.
      parts: Iterable of (row numbers, list of arrays [words, K, H], one per row) that contains every row once.

    Raises:
      InputError: If the disk does not have enough space, or another process is writing to the directory.
    """
    kept = _make_rows(folder, layers, lengths, width)
    with files.folder_for(folder), files.only_writer("vectors_dir", folder), contextlib.ExitStack() as unfinished:
        with files.new_file(os.path.join(folder, TOLD_FILE)) as file:
            json.dump(told, file, indent=2)
        paths = {layer: unfinished.enter_context(files.new_local_file(kept.get_path(layer))) for layer in layers}
        place = os.path.dirname(paths[layers[0]])
        if lacking := kept.count_missing_bytes(place):
            needed, free = lacking
            raise InputError(f"`vectors_dir`: requires {needed / 1e6:,.0f} MB in {place}, but {free / 1e6:,.0f} MB are "
                             "free; choose another directory")
        kept.write(paths, ((rows, {layer: [of_row[:, number] for of_row in vectors]
                                   for number, layer in enumerate(layers)}) for rows, vectors in parts))


def _make_rows(folder, layers, lengths, width):
    return KeptRows(folder, LAYER_FILE, dict.fromkeys(layers, Entry([-1, width], DTYPE.name)), lengths)
