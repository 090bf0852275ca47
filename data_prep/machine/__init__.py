"""The processes, threads, and machine code of this machine.

Numba is imported when the first function is compiled, not before: it takes a third of a second and 60 MB, with the code
130.
"""

from data_prep.machine.compilation import compiled, is_available, numba_module
from data_prep.machine.processes import map_in_processes
from data_prep.machine.threads import map_in_threads

__all__ = ["compiled", "is_available", "map_in_processes", "map_in_threads", "numba_module"]
