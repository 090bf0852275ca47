"""The graphs of a .tflite file as functions of arrays, by LiteRT's CompiledModel.

LiteRT's older Interpreter would repack the weights for each graph of a file, when the first is used: seconds and
hundreds of megabytes. CompiledModel keeps packed weights in a cache that all graphs share.
"""

import atexit
import contextlib
import functools
import os

import numpy as np
from ai_edge_litert.compiled_model import CompiledModel
from ai_edge_litert.environment import Environment
from ai_edge_litert.options import CpuOptions, Options

CACHE_IN_MEMORY = ":memory"  # XNNPACK's name for a cache of packed weights that is no file


class CompiledGraphs:
    """The signatures of a file; not safe from several threads.

    Attributes:
      names: list of str, of the signatures.
    """

    def __init__(self, path, num_threads):
        """Args: path, a local .tflite file; num_threads, those that an operation uses.

        Raises:
          RuntimeError: LiteRT cannot read the file.
        """
        options = Options(cpu_options=CpuOptions(num_threads=num_threads, xnnpack_weight_cache_path=CACHE_IN_MEMORY))
        with _quiet():
            self._model = CompiledModel.from_file(path, environment=_environment(), options=options)
        self._signatures = self._model.get_signature_list()
        self._buffers = {}
        self.names = list(self._signatures)

    def run(self, name, inputs):
        """Runs a signature.

        Args:
          name: one of `names`.
          inputs: dict from each input's name to an array of its shape and type.

        Returns:
          dict from each output's name to its array.
        """
        if name not in self._buffers:
            with _quiet():
                self._buffers[name] = self._make_buffers(name)
                _write(self._buffers[name][0], inputs)  # the first of a process makes LiteRT write about it
        sources, results, details = self._buffers[name]
        _write(sources, inputs)
        self._model.run_by_name(name, sources, results)
        return {key: buffer.read(details[key].size, details[key].dtype).reshape(details[key].shape)
                for key, buffer in results.items()}

    def _make_buffers(self, name):
        model, signature = self._model, self._signatures[name]
        details = model.get_output_tensor_details(name)
        return ({key: model.create_input_buffer_by_name(name, key) for key in signature["inputs"]},
                {key: model.create_output_buffer_by_name(name, key) for key in signature["outputs"]},
                {key: np.empty(details[key]["shape"], details[key]["dtype"]) for key in signature["outputs"]})


def _write(buffers, inputs):
    for key, buffer in buffers.items():
        buffer.write(inputs[key])


@functools.cache
def _environment():
    """What all models of the process share."""
    atexit.register(_silence)  # when it is freed at the very end, LiteRT writes about it
    return Environment.create()


@contextlib.contextmanager
def _quiet():
    """A context in which nothing reaches standard error: LiteRT writes a dozen lines there, and has no switch."""
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
