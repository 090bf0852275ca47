"""What Linux tells of the processor; TensorFlow is not needed for it."""

import itertools

CPU_INFO = "/proc/cpuinfo"


def read():
    """Reads what the system says of its first processor.

    Returns:
      (str, its name, "" where there is none; frozenset of str, the instruction sets that it has, such as "avx2", empty
      where the system does not say).
    """
    try:
        with open(CPU_INFO, encoding="utf-8", errors="replace") as file:
            first = list(itertools.takewhile(str.strip, file))  # up to the empty line before the second processor
    except OSError:
        return "", frozenset()
    told = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in first)}
    return told.get("model name", ""), frozenset(told.get("flags", told.get("Features", "")).split())
