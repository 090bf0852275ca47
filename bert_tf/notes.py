"""Notes: lines on the standard error stream that tell a user about a decision."""

import contextlib
import sys


def tell(text):
    """Prints a note of one line. `text`: str, without "note: "."""
    write_line(f"note: {text}")


def write_line(line):
    """Prints a line to standard error; a progress bar there does not share the line."""
    with _pause_bars():
        print(line, file=sys.stderr)


@contextlib.contextmanager
def _pause_bars():
    """Removes the progress bars from the last line within a context.

    A terminal shows them again below what the context prints. In a file, which keeps what a bar has
    written, the context begins on a new line.
    """
    # A process without a progress bar does not import tqdm.
    tqdm = getattr(sys.modules.get("tqdm"), "tqdm", None)
    bars = [bar for bar in getattr(tqdm, "_instances", ()) if bar.fp == sys.stderr]
    if not bars:
        yield
    elif sys.stderr.isatty():
        with tqdm.external_write_mode(file=sys.stderr):
            yield
    else:
        print(file=sys.stderr)
        yield
