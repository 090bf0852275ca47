"""A teacher's outputs for training data, saved to disk.

All epochs and runs that need the same outputs read them.
"""

import itertools
import os

import tensorflow as tf

from bert_tf import files
from bert_tf.errors import InputError
from run.training import stored_rows
from run.training.stored_rows import Entry, StoredRows

PREFIX = "teacher_"  # Prefix of the names of outputs among features.
CONSEQUENCE = "query the teacher again"


def read(folder, lengths):
    """Opens a subdirectory of `run.training.stored_rows`.

    Args:
      folder: Path of the subdirectory.
      lengths: int [n]. Length of each row.

    Returns:
      StoredRows.

    Raises:
      InputError: If a file is missing or damaged.
    """
    metadata = files.read_json_object(os.path.join(folder, stored_rows.METADATA_FILE))
    try:
        entries = {name: Entry(**entry) for name, entry in metadata["entries"].items()}
        if any(os.path.basename(name) != name for name in entries):
            raise ValueError("lists files of other directories")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{folder}: is corrupted ({error}); delete it to {CONSEQUENCE}") from error
    return StoredRows(folder, entries, lengths).open(CONSEQUENCE)


def write(path, metadata, lengths, parts, positions):
    """Writes a subdirectory. See `stored_rows.write`.

    Args:
      path, metadata, lengths: See `stored_rows.write`.
      parts: Iterable of (row numbers, dict of name to array [rows, ...]) that contains every row
        once.
      positions: Dict of name to tuple of int. Negative axes that are positions of the row's text.
    """
    parts = iter(parts)
    first = next(parts)
    entries = {name: _make_entry(value, positions[name]) for name, value in first[1].items()}
    stored_rows.write(path, metadata, entries, lengths, itertools.chain([first], parts))


def add_outputs(stored, dataset, row_name):
    """Adds outputs to the features of a dataset.

    Args:
      stored: StoredRows of `read`.
      dataset: Dataset of dicts with input_ids [n, ..., S] and the feature `row_name`, [n] or [n, 1]
        row numbers.
      row_name: Name of that feature.

    Returns:
      Dataset of the same dicts, with PREFIX + name to [n, ...] for each entry.
    """
    entries = stored.entries

    def add(features):
        """Returns the features of a batch with the outputs of its rows."""
        input_ids = features["input_ids"]
        values = tf.numpy_function(
            stored.look_up,
            [tf.reshape(features[row_name], [-1]), tf.shape(input_ids)[-1]],
            [entry.dtype for entry in entries.values()],
            stateful=False,
        )
        for value, entry in zip(values, entries.values(), strict=True):
            value.set_shape([input_ids.shape[0], *entry.get_shape(input_ids.shape[-1])])
        return {
            **features,
            **{f"{PREFIX}{name}": value for name, value in zip(entries, values, strict=True)},
        }

    return dataset.map(add, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)


def _make_entry(value, axes):
    """Creates the Entry of an array [rows, ...].

    `axes`: Negative axes that are as long as the row.
    """
    shape = [-1 if axis - value.ndim in axes else size for axis, size in enumerate(value.shape)][1:]
    return Entry(shape, str(value.dtype))
