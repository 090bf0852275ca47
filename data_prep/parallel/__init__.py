"""Work spread over processes of this machine."""

from data_prep.parallel.process_pool import map_in_processes

__all__ = ["map_in_processes"]
