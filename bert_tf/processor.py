"""The processor and its cores. Does not import TensorFlow."""

import itertools
import os

CPU_INFO = "/proc/cpuinfo"


def read():
    """Reads the system's description of its first processor.

    Returns:
      Tuple `(name, instruction_sets)`: str, "" if unknown; frozenset of str, such as "avx2", empty
      if unknown.
    """
    try:
        with open(CPU_INFO, encoding="utf-8", errors="replace") as file:
            # An empty line follows the description of the first processor.
            first = list(itertools.takewhile(str.strip, file))
    except OSError:
        return "", frozenset()
    fields = {
        name.strip(): value.strip() for name, _, value in (line.partition(":") for line in first)
    }
    return fields.get("model name", ""), frozenset(
        fields.get("flags", fields.get("Features", "")).split()
    )


def count_cores():
    """Returns the number of cores that this process may use; on macOS, of all cores."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
