"""Plain Python functions as machine code, where numba is installed; compiled once and kept on disk.

Imports numba, which takes a third of a second and 60 MB, with compiled code 130, where a function is compiled and not before.
"""

from data_prep.compiled.numba_functions import compiled, is_available, numba_module

__all__ = ["compiled", "is_available", "numba_module"]
