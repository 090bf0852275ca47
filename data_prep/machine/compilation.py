"""Functions compiled by numba, with its cache on disk."""

import functools
import os
import tempfile


@functools.cache
def compile_function(function, *helpers):
    """Compiles a function for the types of its arguments; processes share the code on disk.

    The code is in `__pycache__` next to the function's file. If this directory cannot be written, it is in the user's
    cache directory, or else in a directory for this process and its child processes.

    Args:
      function: Callable of numbers, arrays, and named tuples of these, in the Python that numba supports. It must not
        call compiled functions of other files: numba only recompiles if the function's own file changes.
      *helpers: Functions of the same file that it calls.

    Returns:
      Callable. It releases the interpreter's lock.
    """
    import numba
    import numba.extending

    for helper in helpers:
        numba.extending.register_jitable(helper)
    compile_cached = functools.partial(numba.njit, function, nogil=True, cache=True)
    try:
        quick = compile_cached()
    except RuntimeError:  # No directory can be written.
        # In the environment too: processes that this one starts must not each compile.
        numba.config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"] = _create_directory().name
        quick = compile_cached()

    @functools.wraps(function)
    def call(*arguments):
        nonlocal quick
        try:
            return quick(*arguments)
        except OSError:  # The code could not be written, for example to a full disk. The function did not run.
            quick = numba.njit(function, nogil=True)
            return quick(*arguments)

    return call


@functools.cache
def _create_directory():
    return tempfile.TemporaryDirectory(prefix="bert_tf_compiled_")
