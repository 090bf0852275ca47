"""Runs any number of rows of any length through graphs of fixed shapes.

There is a graph for each bucket, a batch size and a length. Rows are sorted by length and split
into batches with the minimum cost. A batch costs its positions, including padding, and a constant
for the call.

LiteRT's older Interpreter would repack the weights for each graph of a file on its first use, which
takes seconds and hundreds of megabytes. CompiledModel has a cache of packed weights that all graphs
share. The rest of the time of a short request is the kernel (ai-edge-litert 2.3.0): for one row
of BERT-Base in int8, it reads 85 MB of weights in 3.0 ms, and it computes tiles of 10 rows.
"""

import atexit
import contextlib
import functools
import os
import threading
import typing

import numpy as np
from ai_edge_litert.compiled_model import CompiledModel
from ai_edge_litert.environment import Environment
from ai_edge_litert.options import CpuOptions, Options

from bert_tf import processor
from bert_tf.errors import InputError
from bert_tf.serving.plain_model import CALL, fill_features

# Names of the signatures of a file.
ROWS = "rows_"  # ROWS, batch size, "x", length: the model on rows of IDs.
HEAD = "masks_"  # HEAD, number: a masked LM's head on this many states.

# Default lengths of rows: with 24, 48, 96, and 192 between the powers of 2, there is less padding.
LENGTHS = (16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
BATCH_SIZES = (1, 8)  # Default batch sizes. Larger ones save no time.

CACHE_IN_MEMORY = ":memory"  # XNNPACK's name for a cache of packed weights that is not a file.
CREATION = threading.Lock()  # standard error and the environment belong to the process


class Buckets:
    """The graphs of a file, which threads use in turns.

    So weights and memory exist once.

    Attributes:
      output_names: Names of all outputs of the graphs, a set of str.
    """

    has_head = True

    def __init__(self, path, num_threads=None):
        """Opens the graphs.

        Args:
          path: Path of a local .tflite file.
          num_threads: int. Threads per matrix multiplication; None for all cores.
        """
        try:
            self._graphs = open_graphs(path, num_threads or processor.count_cores())
        except (ValueError, RuntimeError) as error:
            raise InputError(
                f"{path}: is not a LiteRT model: {str(error).splitlines()[0]}"
            ) from error
        self._signatures = names = self._graphs.get_signature_list()
        self.output_names = {name for graph in names.values() for name in graph["outputs"]}
        self._lock = threading.Lock()
        self._buffers = {}
        self._batch_sizes = {}
        for name in names:
            if name.startswith(ROWS):
                batch_size, length = map(int, name.removeprefix(ROWS).split("x"))
                self._batch_sizes.setdefault(length, []).append(batch_size)
        self._head_sizes = [int(name.removeprefix(HEAD)) for name in names if name.startswith(HEAD)]

    def run(self, rows):
        """Runs the model on a list of Row of tokenization.plain, none over the longest bucket.

        Returns:
          List of dicts, one per row: output name -> float32 array of that row, of the length of its
          bucket.
        """
        results = [None] * len(rows)
        by_length = sorted(range(len(rows)), key=lambda number: len(rows[number].ids))
        lengths = [len(rows[number].ids) for number in by_length]
        for batch in plan(lengths, self._batch_sizes):
            taken = by_length[batch.start : batch.end]
            features = fill_features([rows[number] for number in taken], batch.size, batch.length)
            outputs = self._call(f"{ROWS}{batch.size}x{batch.length}", features)
            for index, number in enumerate(taken):
                results[number] = {name: value[index] for name, value in outputs.items()}
        return results

    def run_head(self, vectors):
        """Runs a masked LM's head on float32 [MA, H], MA at least 1.

        Returns:
          Dict of name -> array [MA, ...].
        """
        parts = []
        for batch in plan([1] * len(vectors), {1: self._head_sizes}):
            count = batch.end - batch.start
            padded = np.zeros([batch.size, vectors.shape[1]], np.float32)
            padded[:count] = vectors[batch.start : batch.end]
            outputs = self._call(f"{HEAD}{batch.size}", {"vectors": padded})
            parts.append({name: value[:count] for name, value in outputs.items()})
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _call(self, name, inputs):
        """Runs a signature.

        Args:
          name: Name of the signature.
          inputs: Dict of input name -> array of its shape and dtype.

        Returns:
          Dict of output name -> array.
        """
        with self._lock:
            if name not in self._buffers:
                signature = self._signatures[name]
                with quiet():  # LiteRT prints a message about the first write of a process
                    sources = {
                        key: self._graphs.create_input_buffer_by_name(name, key)
                        for key in signature["inputs"]
                    }
                    results = {
                        key: self._graphs.create_output_buffer_by_name(name, key)
                        for key in signature["outputs"]
                    }
                    _write(sources, inputs)
                self._buffers[name] = sources, results, self._graphs.get_output_tensor_details(name)
            sources, results, details = self._buffers[name]
            _write(sources, inputs)
            self._graphs.run_by_name(name, sources, results)
            outputs = {}
            for key, buffer in results.items():
                shape = details[key]["shape"]
                dtype = details[key]["dtype"]
                outputs[key] = buffer.read(int(np.prod(shape)), dtype).reshape(shape)
            return outputs


def _write(buffers, inputs):
    for key, buffer in buffers.items():
        buffer.write(inputs[key])


class Batch(typing.NamedTuple):
    """Rows that run together."""

    size: int  # Batch size of the bucket.
    length: int  # Length of the bucket.
    start: int  # First row.
    end: int  # Row after the last.


def plan(lengths, batch_sizes):
    """Computes the batches with the minimum cost.

    This is dynamic programming over the first 1, 2, ... rows.

    Args:
      lengths: Ascending list of int. Lengths of rows; none over the longest bucket.
      batch_sizes: Dict of length of a bucket to its batch sizes.

    Returns:
      List of `Batch`.
    """
    buckets = iter(sorted(batch_sizes))
    bucket = 0
    best = [(0, None)]  # minimum cost of this many rows, and the last batch among them
    for end, length in enumerate(lengths, 1):
        while bucket < length:
            bucket = next(buckets)
        starts = {size: max(0, end - size) for size in batch_sizes[bucket]}
        best.append(
            min(
                (best[start][0] + size * bucket + CALL, Batch(size, bucket, start, end))
                for size, start in starts.items()
            )
        )
    batches = []
    end = len(lengths)
    while end:
        batches.append(best[end][1])
        end = batches[-1].start
    return batches[::-1]


def open_graphs(path, num_threads):
    """Opens a local .tflite file as a CompiledModel, whose operations use `num_threads` threads.

    Raises:
      RuntimeError: If LiteRT cannot read the file.
    """
    options = Options(
        cpu_options=CpuOptions(num_threads=num_threads, xnnpack_weight_cache_path=CACHE_IN_MEMORY)
    )
    with CREATION, quiet(), _off_first_core():
        return CompiledModel.from_file(path, environment=_environment(), options=options)


@functools.cache
def _environment():
    """Returns the environment that all models of the process share."""
    atexit.register(_silence)  # LiteRT prints a message when it is freed at exit
    return Environment.create()


@contextlib.contextmanager
def _off_first_core():
    """Keeps threads that are created within a context off the first core.

    That core remains for the thread that calls them. A thread that is woken after a pause often
    starts on its caller's core, where both take turns: a request then takes as long as with one
    thread. To keep the caller on the first core gains nothing more.
    """
    if not hasattr(os, "sched_setaffinity"):  # macOS
        yield
        return
    cores = os.sched_getaffinity(0)
    if len(cores) > 1:
        # This affects only this thread and threads that it creates.
        os.sched_setaffinity(0, cores - {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


@contextlib.contextmanager
def quiet():
    """Suppresses standard error within a context.

    LiteRT and its converter print a dozen lines, and have no option against it.
    """
    kept = os.dup(2)
    try:
        _silence()
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _silence():
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
