"""The ends of worker processes."""

import time


def is_alive(process):
    """Returns whether a process runs; one that has ended does not, even before its parent waits."""
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until_dead(workers):
    """Waits up to 20 s; returns whether all processes have ended."""
    deadline = time.monotonic() + 20
    while any(map(is_alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not any(map(is_alive, workers))
