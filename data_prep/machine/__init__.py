"""The processes, threads, and compiled functions of this machine.

numba is imported when the first compiled function is called: it takes a third of a second and 60 MB, 130 MB with code.
"""

from data_prep.machine.compilation import compile_function
from data_prep.machine.processes import map_in_processes
from data_prep.machine.threads import map_in_threads

__all__ = ["compile_function", "map_in_processes", "map_in_threads"]
