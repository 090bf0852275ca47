"""Word embeddings from an encoder, saved to disk and read row by row. See run.arrays.stored_rows.

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
from run.arrays.stored_rows import Entry, StackedRows, StoredRows

DTYPE = np.dtype(np.float16)  # Half the memory, without an effect on classifiers.
METADATA_FILE, LAYER_FILE = "vectors.json", "layer_{}.npy"


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


def find_missing(folder, layers):
    """Returns the layers among `layers` that a directory lacks, tuple of int."""
    return tuple(layer for layer in layers if not files.at(os.path.join(folder, LAYER_FILE.format(layer))).exists())


def write(folder, metadata, layers, lengths, width, parts):
    """Writes the embeddings of layers, all of them or none.

    Args:
      folder: Path from `run.arrays.stored_rows.find_subfolder`, created if it does not exist.
      metadata: Dict to save in vectors.json.
      layers: Tuple of int.
      lengths: int [n]. Words per row of the encoder.
      width: int. H.
      parts: Iterable of (row numbers, list of arrays [words, K, H], one per row) that contains every row once.

    Raises:
      InputError: If the disk does not have enough space, or another process is writing to the directory.
    """
    stored = _make_rows(folder, layers, lengths, width)
    with files.folder_for(folder), files.lock_output("vectors_dir", folder), contextlib.ExitStack() as unfinished:
        with files.new_file(os.path.join(folder, METADATA_FILE)) as file:
            json.dump(metadata, file, indent=2)
        paths = {layer: unfinished.enter_context(files.at(stored.get_path(layer)).new_local_file()) for layer in layers}
        place = os.path.dirname(paths[layers[0]])
        if shortage := stored.find_missing_space(place):
            required, free = shortage
            raise InputError(f"`vectors_dir`: requires {required / 1e6:,.0f} MB in {place}, but {free / 1e6:,.0f} MB "
                             "are free; choose another directory")
        stored.write(paths, ((rows, {layer: [row_vectors[:, number] for row_vectors in vectors]
                                   for number, layer in enumerate(layers)}) for rows, vectors in parts))


def _make_rows(folder, layers, lengths, width):
    return StoredRows(folder, LAYER_FILE, dict.fromkeys(layers, Entry([-1, width], DTYPE.name)), lengths)
