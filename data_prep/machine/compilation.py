"""Functions compiled by numba, with its cache on disk."""

import functools
import os
import tempfile


@functools.cache
def is_available():
    """Whether numba can be imported."""
    try:
        numba_module()
    except ImportError:  # it is not installed, or too old for NumPy
        return False
    return True


def numba_module():
    """numba; ImportError where it cannot be had."""
    import numba
    import numba.extending

    return numba


@functools.cache
def compiled(function, *helpers):
    """A function compiled for the types with which it is called; the code is kept on disk and shared by processes.

    Code is kept in `__pycache__` beside the function's file; where that cannot be written, in the user's cache folder;
    failing that, in a folder for this process and those that it starts.

    Args:
      function: of numbers, arrays and named tuples of them, in what numba knows of Python. It must call no compiled
        code of other files: numba compiles anew when the function's file changes, and looks at no other.
      *helpers: functions of the same file that it calls.

    Returns:
      A function. It does not hold the interpreter's lock.
    """
    for helper in helpers:
        numba_module().extending.register_jitable(helper)
    try:
        quick = _cached(function)
    except RuntimeError:  # there is no folder for the code
        # In the environment too: processes that this one starts are not to compile each for themselves.
        numba_module().config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"] = _own_folder().name
        quick = _cached(function)

    @functools.wraps(function)
    def call(*arguments):
        nonlocal quick
        try:
            return quick(*arguments)
        except OSError:  # The code could not be written, as to a full disk. It had not begun to run.
            quick = numba_module().njit(function, nogil=True)
            return quick(*arguments)

    return call


def _cached(function):
    return numba_module().njit(function, nogil=True, cache=True)


@functools.cache
def _own_folder():
    return tempfile.TemporaryDirectory(prefix="bert_tf_compiled_")
