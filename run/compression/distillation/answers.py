"""A teacher's answers to training data, kept on disk for all epochs and runs that ask the same.

A folder of answers has a folder for each set of data and settings, whose name is a fingerprint of these. In it lies a
file for each thing that the teacher says, an entry of varying length for each row of the data, one after the other, and
`answers.json`, which tells what they are of.
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
import tensorflow as tf

from bert_tf import files
from bert_tf.errors import InputError

TOLD_FILE, LENGTHS_FILE = "answers.json", "lengths.npy"
PREFIX = "teacher_"  # of the names of answers among features
FINGERPRINT_DIGITS = 16


@dataclasses.dataclass(frozen=True)
class Entry:
    """One thing that is kept of each row.

    Attributes:
      shape: of a row's entry, list of int; -1 where it is as long as the row.
      dtype: name of NumPy's.
    """

    shape: list
    dtype: str

    def shape_for(self, length):
        """The shape for a row of that length."""
        return [length if size < 0 else size for size in self.shape]

    def offsets(self, lengths):
        """Where each row's entry begins in its file, and where the last ends, in elements: int64 [n + 1]."""
        fixed = math.prod(size for size in self.shape if size >= 0)
        sizes = fixed * np.asarray(lengths, np.int64) ** sum(size < 0 for size in self.shape)
        return np.concatenate([[0], np.cumsum(sizes)])


class Answers:
    """Answers that are kept, to look up by row.

    Args:
      folder: that `write` made.

    Raises:
      InputError: a file of it is missing or damaged.
    """

    def __init__(self, folder):
        told = files.read_json_object(os.path.join(folder, TOLD_FILE))
        try:
            with files.open_bytes(os.path.join(folder, LENGTHS_FILE)) as file:
                self.lengths = np.load(file)
            self.entries = {name: Entry(**entry) for name, entry in told["entries"].items()}
            if any(os.path.basename(name) != name for name in self.entries):
                raise ValueError("it names files of other folders")
        except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
            raise InputError(f"{folder}: is damaged ({error}); remove it, and the teacher is asked again") from error
        self._open = contextlib.ExitStack()
        self._offsets, self._values = {}, {}
        for name, entry in self.entries.items():
            path = os.path.join(folder, _file_of(name))
            offsets = self._offsets[name] = entry.offsets(self.lengths)
            if not files.exists(path) or files.size(path) != offsets[-1] * np.dtype(entry.dtype).itemsize:
                raise InputError(f"{path}: is missing or damaged; remove {folder}, and the teacher is asked again")
            # A remote file is copied once; the copy lives as long as this object.
            local = self._open.enter_context(files.local_copy(path))
            self._values[name] = np.memmap(local, entry.dtype, "r")

    def look_up(self, rows, length):
        """Entries of rows, int [n], with zeros after each row's length: list of arrays [n, ...] in order of entries."""
        found = []
        for name, entry in self.entries.items():
            values = np.zeros([len(rows), *entry.shape_for(int(length))], entry.dtype)
            for number, row in enumerate(rows):
                shape = entry.shape_for(self.lengths[row])
                start, stop = self._offsets[name][row : row + 2]
                values[(number, *map(slice, shape))] = self._values[name][start:stop].reshape(shape)
            found.append(values)
        return found

    def added(self, dataset, row_name):
        """A dataset of batches with the answers among their features.

        Args:
          dataset: of dicts with input_ids [n, ..., S] and the feature `row_name` [n] or [n, 1], numbers of rows.
          row_name: its name.

        Returns:
          Dataset of the same dicts, and PREFIX and a name -> [n, ...] for each entry.
        """
        def add(features):
            input_ids = features["input_ids"]
            values = tf.numpy_function(self.look_up, [tf.reshape(features[row_name], [-1]), tf.shape(input_ids)[-1]],
                                       [entry.dtype for entry in self.entries.values()], stateful=False)
            for value, entry in zip(values, self.entries.values(), strict=True):
                value.set_shape([input_ids.shape[0], *entry.shape_for(input_ids.shape[-1])])
            return {**features, **{f"{PREFIX}{name}": value for name, value in zip(self.entries, values, strict=True)}}

        return dataset.map(add, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)


def check_teacher(folder, teacher):
    """Raises InputError if a folder has answers of another teacher than `teacher`, a dict, tells."""
    for name in sorted(files.names_in(folder)) if files.is_dir(folder) else ():
        path = os.path.join(folder, name, TOLD_FILE)
        if files.exists(path) and files.read_json_object(path).get("teacher") != teacher:
            raise InputError(f"`answers_dir`={folder}: holds the answers of another teacher; choose another folder")


def find(folder, teacher, asked):
    """The path of answers in a folder of them, whether or not they are there.

    Args:
      folder: of the answers of one teacher.
      teacher: dict that tells it from others.
      asked: dict that tells data and settings from others, as JSON can hold it.
    """
    digest = hashlib.sha256(json.dumps([teacher, asked], sort_keys=True).encode()).hexdigest()
    return os.path.join(folder, digest[:FINGERPRINT_DIGITS])


def write(path, told, lengths, parts, positions):
    """Writes answers whole, or not at all.

    Args:
      path: folder to make; what is above it is made if missing.
      told: dict to keep in answers.json.
      lengths: int [n], of each row.
      parts: iterable of (numbers of rows, dict of name -> array [rows, ...]), which together have every row once.
      positions: dict of name -> the axes that are positions of the row's text, negative.

    Raises:
      InputError: the disk has not enough space.
    """
    files.make_dirs(os.path.dirname(path))
    with files.new_folder(path) as folder:
        os.makedirs(folder)
        entries, values, offsets = {}, {}, {}
        for rows, answers in parts:
            if not entries:
                entries = {name: _entry(value, positions[name]) for name, value in answers.items()}
                offsets = {name: entry.offsets(lengths) for name, entry in entries.items()}
                _check_space(path, folder, entries, offsets)
                values = {name: np.memmap(os.path.join(folder, _file_of(name)), entry.dtype, "w+",
                                          shape=(offsets[name][-1],)) for name, entry in entries.items()}
            for name, entry in entries.items():
                for row, answer in zip(rows, answers[name], strict=True):
                    whole = answer[tuple(map(slice, entry.shape_for(lengths[row])))]
                    values[name][offsets[name][row] : offsets[name][row + 1]] = whole.ravel()
        for value in values.values():
            value.flush()
        np.save(os.path.join(folder, LENGTHS_FILE), np.asarray(lengths, np.int32))
        with open(os.path.join(folder, TOLD_FILE), "w", encoding="utf-8") as file:
            kept = {name: dataclasses.asdict(entry) for name, entry in entries.items()}
            json.dump({**told, "entries": kept}, file, indent=2)


def _file_of(name):
    return f"{name}.bin"


def _entry(value, axes):
    """The Entry of an array [rows, ...]; axes: negative, those that are as long as the row."""
    shape = [-1 if axis - value.ndim in axes else size for axis, size in enumerate(value.shape)][1:]
    return Entry(shape, str(value.dtype))


def _check_space(path, folder, entries, offsets):
    needed = sum(int(offsets[name][-1]) * np.dtype(entry.dtype).itemsize for name, entry in entries.items())
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise InputError(f"{path}: the teacher's answers need {needed / 1e6:,.0f} MB, and {free / 1e6:,.0f} are free; "
                         "`nokeep_answers` asks the teacher in each step")
