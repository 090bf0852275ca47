"""Notes: lines on the standard error stream that tell a user about a decision."""

import sys


def tell(text):
    """Prints a note of one line. `text`: str, without "note: "."""
    print(f"note: {text}", file=sys.stderr)
