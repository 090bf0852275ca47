"""Plain Python functions as machine code, where numba is installed; compiled once and kept on disk.

Imports numba where a function is compiled and not before: it takes a third of a second and 60 MB, with the code 130.
"""

from data_prep.compiled.numba_functions import compiled, is_available, numba_module

__all__ = ["compiled", "is_available", "numba_module"]
