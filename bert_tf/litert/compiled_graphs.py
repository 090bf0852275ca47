"""Opens the graphs of a .tflite file with LiteRT's CompiledModel.

LiteRT's older Interpreter would repack the weights for each graph of a file on its first use, which takes seconds and
hundreds of megabytes. CompiledModel has a cache of packed weights that all graphs share.
"""

import atexit
import contextlib
import functools
import os
import threading

from ai_edge_litert.compiled_model import CompiledModel
from ai_edge_litert.environment import Environment
from ai_edge_litert.options import CpuOptions, Options

CACHE_IN_MEMORY = ":memory"  # XNNPACK's name for a cache of packed weights that is not a file.
CREATION = threading.Lock()  # standard error and the environment belong to the process


def open_graphs(path, num_threads):
    """Opens a local .tflite file as a CompiledModel, whose operations use `num_threads` threads.

    Raises:
      RuntimeError: If LiteRT cannot read the file.
    """
    options = Options(cpu_options=CpuOptions(num_threads=num_threads, xnnpack_weight_cache_path=CACHE_IN_MEMORY))
    with CREATION, quiet(), _off_first_core():
        return CompiledModel.from_file(path, environment=_environment(), options=options)


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
