"""Work spread over processes and threads of this machine."""

from data_prep.parallel.process_pool import map_in_processes
from data_prep.parallel.thread_pool import map_in_threads

__all__ = ["map_in_processes", "map_in_threads"]
