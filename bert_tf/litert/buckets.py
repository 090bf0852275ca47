"""Rows of any number and lengths through graphs of fixed shapes: one for each bucket of batch size and length.

Rows are taken by length, so that few are padded far, and in the largest batches that they fill: a batch costs about as
much as its rows one by one.
"""

import os
import threading

import numpy as np

from bert_tf.errors import InputError
from bert_tf.litert import compiled_graphs
from bert_tf.litert.signatures import HEAD, ROWS

# A batch with fewer places taken is cut into smaller ones: its empty places would cost more than its size saves.
FULL_ENOUGH = 0.8


class Buckets:
    """The graphs of a file, behind a lock: threads take turns, and weights and memory are there once.

    Attributes:
      lengths: ascending list of int, longest rows of the buckets.
    """

    def __init__(self, path, num_threads=None):
        """Args: path, a local .tflite file; num_threads, those that a product uses, None for one a core."""
        try:
            self._graphs = compiled_graphs.CompiledGraphs(path, num_threads or len(os.sched_getaffinity(0)))
        except (ValueError, RuntimeError) as error:
            raise InputError(f"{path}: is not a LiteRT model: {str(error).splitlines()[0]}") from error
        names = self._graphs.names
        self._lock = threading.Lock()
        self._batch_sizes = {}
        for name in names:
            if name.startswith(ROWS):
                batch_size, length = map(int, name.removeprefix(ROWS).split("x"))
                self._batch_sizes.setdefault(length, []).append(batch_size)
        self._head_sizes = [int(name.removeprefix(HEAD)) for name in names if name.startswith(HEAD)]
        self.lengths = sorted(self._batch_sizes)
        if not self.lengths:
            raise InputError(f"{path}: has no signature {ROWS}BATCHxLENGTH")

    def run(self, rows):
        """Runs the model.

        Args:
          rows: list of inputs.Row, none longer than the last of `lengths`.

        Returns:
          List of dicts, one a row: name of an output -> float32 array of that row, of the length of its bucket.
        """
        results = [None] * len(rows)
        by_length = {}
        for number in range(len(rows)):
            by_length.setdefault(self._length_of(len(rows[number].ids)), []).append(number)
        for length, numbers in by_length.items():
            for size, taken in cut(numbers, self._batch_sizes[length]):
                batch = _padded([rows[number] for number in taken], size, length)
                outputs = self._call(f"{ROWS}{size}x{length}", batch)
                for place, number in enumerate(taken):
                    results[number] = {name: value[place] for name, value in outputs.items()}
        return results

    def run_head(self, vectors):
        """Runs a masked LM's head; float32 [N, H] -> dict of name -> array [N, ...], N at least 1."""
        parts = []
        for size, taken in cut(list(range(len(vectors))), self._head_sizes):
            batch = np.zeros([size, vectors.shape[1]], np.float32)
            batch[: len(taken)] = vectors[taken]
            outputs = self._call(f"{HEAD}{size}", {"vectors": batch})
            parts.append({name: value[: len(taken)] for name, value in outputs.items()})
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _length_of(self, length):
        return next(each for each in self.lengths if each >= length)

    def _call(self, signature, inputs):
        with self._lock:
            return self._graphs.run(signature, inputs)


def cut(items, sizes):
    """Cuts a list into batches of given sizes.

    Args:
      items: list.
      sizes: batch sizes to choose from.

    Returns:
      List of (batch size, list of at most as many items).
    """
    batches, start, smallest = [], 0, min(sizes)
    for size in sorted(sizes, reverse=True):
        while start < len(items) and (size == smallest or len(items) - start >= FULL_ENOUGH * size):
            batches.append((size, items[start : start + size]))
            start += size
    return batches


def _padded(rows, batch_size, length):
    """Features int32 [batch_size, length] of rows, padding everywhere else."""
    features = {name: np.zeros([batch_size, length], np.int32) for name in ("input_ids", "input_mask", "segment_ids")}
    for place, row in enumerate(rows):
        count = len(row.ids)
        features["input_ids"][place, :count] = row.ids
        features["input_mask"][place, :count] = 1
        features["segment_ids"][place, :count] = row.segments
    return features
