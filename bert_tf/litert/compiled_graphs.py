"""The graphs of a .tflite file as functions of arrays, with LiteRT's CompiledModel.

LiteRT's older Interpreter would repack the weights for each graph of a file on its first use, which takes seconds and
hundreds of megabytes. CompiledModel has a cache of packed weights that all graphs share.
"""

import atexit
import contextlib
import functools
import os
import threading

import numpy as np
from ai_edge_litert.compiled_model import CompiledModel
from ai_edge_litert.environment import Environment
from ai_edge_litert.options import CpuOptions, Options

CACHE_IN_MEMORY = ":memory"  # XNNPACK's name for a cache of packed weights that is not a file.
CREATION = threading.Lock()  # standard error and the environment belong to the process


class CompiledGraphs:
    """The signatures of a file; not thread-safe.

    Attributes:
      names: List of str. Names of the signatures.
    """

    def __init__(self, path, num_threads):
        """Args: path: local .tflite file; num_threads: int, threads per operation.

        Raises:
          RuntimeError: If LiteRT cannot read the file.
        """
        options = Options(cpu_options=CpuOptions(num_threads=num_threads, xnnpack_weight_cache_path=CACHE_IN_MEMORY))
        with CREATION, quiet(), _off_first_core():
            self._model = CompiledModel.from_file(path, environment=_environment(), options=options)
        self._signatures = self._model.get_signature_list()
        self._buffers = {}
        self.names = list(self._signatures)

    def output_width(self, name, output):
        """Returns the size of the last axis of an output of the signature `name`."""
        return int(self._model.get_output_tensor_details(name)[output]["shape"][-1])

    def run(self, name, inputs):
        """Runs a signature on a dict of input name to an array of its shape and dtype; returns a dict of arrays."""
        if name not in self._buffers:
            with quiet():
                signature, details = self._signatures[name], self._model.get_output_tensor_details(name)
                self._buffers[name] = (
                    {key: self._model.create_input_buffer_by_name(name, key) for key in signature["inputs"]},
                    {key: self._model.create_output_buffer_by_name(name, key) for key in signature["outputs"]},
                    {key: np.empty(details[key]["shape"], details[key]["dtype"]) for key in signature["outputs"]})
                _write(self._buffers[name][0], inputs)  # LiteRT prints a message about the first write of a process
        sources, results, details = self._buffers[name]
        _write(sources, inputs)
        self._model.run_by_name(name, sources, results)
        return {key: buffer.read(details[key].size, details[key].dtype).reshape(details[key].shape)
                for key, buffer in results.items()}


def _write(buffers, inputs):
    for key, buffer in buffers.items():
        buffer.write(inputs[key])


@functools.cache
def _environment():
    """Returns the environment that all models of the process share."""
    atexit.register(_silence)  # LiteRT prints a message when it is freed at exit
    return Environment.create()


@contextlib.contextmanager
def _off_first_core():
    """Keeps threads that are created within a context off the first core, which remains for the thread that calls them.

    A thread that is woken after a pause often starts on its caller's core, where both take turns: a request then takes
    as long as with one thread.
    """
    if not hasattr(os, "sched_setaffinity"):  # macOS
        yield
        return
    cores = os.sched_getaffinity(0)
    if len(cores) > 1:
        os.sched_setaffinity(0, cores - {min(cores)})  # Only this thread and threads that it creates.
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


@contextlib.contextmanager
def quiet():
    """Suppresses standard error within a context: LiteRT and its converter print a dozen lines, without an option."""
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
