"""Functions compiled by numba, with its cache on disk.

numba is imported when the first compiled function is called: it takes a third of a second and 60
MB, 130 MB with code.
"""

import functools
import inspect


def compiled(function):
    """Decorates a function that is compiled at its first call for the types of its arguments.

    Processes share the code on disk.

    The code is in `__pycache__` next to the function's file. If this directory cannot be written,
    it is in the user's cache directory; if that cannot be written either, each process compiles.

    Args:
      function: Callable of numbers, arrays, and named tuples of these, in the Python that numba
        supports. It can call functions of the same file without this decorator, which are compiled
        with it, but none of other files: numba only recompiles if the function's own file changes.

    Returns:
      Callable. It releases the interpreter's lock.
    """

    @functools.wraps(function)
    def call(*arguments):
        return _compile(function)(*arguments)

    return call


@functools.cache
def _compile(function):
    import numba
    import numba.extending

    for helper in _find_helpers(function):
        numba.extending.register_jitable(helper)
    try:
        return numba.njit(function, nogil=True, cache=True)
    except RuntimeError:  # No directory can be written.
        return numba.njit(function, nogil=True)


def _find_helpers(function):
    """Returns a list of the functions of the same file that a function calls, also indirectly."""
    found = [function]
    for caller in found:
        values = [caller.__globals__.get(name) for name in caller.__code__.co_names]
        found += [
            value
            for value in values
            if inspect.isfunction(value)
            and value not in found
            and value.__globals__ is function.__globals__
        ]
    return found[1:]
