"""Standard streams of a script that are closed or full, or that nobody reads."""

import io
import os
import select
import sys


def open_closed():
    """Opens the null device for each closed standard stream, so that no file of the script gets its number.

    Returns:
      bool. Whether standard output was open.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
    was_open = sys.stdout is not None
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 (until the process ends)
    return was_open


def find_output_error(error=None):
    """Writes the remaining buffer of standard output.

    Args:
      error: Exception that ends the script, None if there is none.

    Returns:
      OSError of standard output, None if everything has been written. After an error, standard output is the null
      device, since Python writes the remaining buffer at exit, and would report the error again.
    """
    found = error if isinstance(error, BrokenPipeError) and _is_broken_pipe() else None
    try:
        sys.stdout.flush()
    except OSError as flush_error:
        found = flush_error
    if found is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return found


def _is_broken_pipe():
    """Returns whether standard output is a pipe that nobody reads."""
    poll = select.poll()
    try:
        poll.register(sys.stdout.fileno(), 0)
    except io.UnsupportedOperation:  # not a file of the system
        return False
    return any(event & select.POLLERR for _, event in poll.poll(0))
