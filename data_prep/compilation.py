"""Functions compiled by numba, with its cache on disk.

numba is imported when the first compiled function is called: it takes a third of a second and 60 MB, 130 MB with code.
"""

import functools


@functools.cache
def compile_function(function, *helpers):
    """Compiles a function for the types of its arguments; processes share the code on disk.

    The code is in `__pycache__` next to the function's file. If this directory cannot be written, it is in the user's
    cache directory; if that cannot be written either, each process compiles.

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
    try:
        quick = numba.njit(function, nogil=True, cache=True)
    except RuntimeError:  # No directory can be written.
        return numba.njit(function, nogil=True)

    @functools.wraps(function)
    def call(*arguments):
        nonlocal quick
        try:
            return quick(*arguments)
        except OSError:  # The code could not be written, for example to a full disk. The function did not run.
            quick = numba.njit(function, nogil=True)
            return quick(*arguments)

    return call
