"""Notes begin on a line of their own, also while a progress bar is shown."""

import io
import sys

import pytest
from tqdm import tqdm

from bert_tf import notes


class Stream(io.StringIO):
    """Stands in for standard error, as a file or as a terminal."""

    def __init__(self, is_terminal):
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self):
        return self._is_terminal


def to_screen(text):
    """Returns the lines that a terminal shows, without those that are blank."""
    lines = [""]
    for part in text.replace("\n", "\0\r").split("\r"):
        is_end = part.endswith("\0")
        part = part.rstrip("\0")
        lines[-1] = (part + lines[-1][len(part) :]) if part else lines[-1]
        if is_end:
            lines.append("")
    return [line.rstrip() for line in lines if line.strip()]


@pytest.mark.parametrize("is_terminal", [False, True])
def test_notes_next_to_a_progress_bar(monkeypatch, is_terminal):
    monkeypatch.setattr(sys, "stderr", Stream(is_terminal))
    notes.tell("before")
    # The bar is shown even with TQDM_DISABLE in the environment.
    with tqdm(desc="predicting", total=3, mininterval=0, disable=False) as bar:
        bar.update()
        notes.tell("a")
        bar.update()
        notes.write_line("b")
        bar.update()
    notes.tell("after")
    written = sys.stderr.getvalue()
    screen = to_screen(written)
    assert [line for line in screen if "predicting" not in line] == [
        "note: before",
        "note: a",
        "b",
        "note: after",
    ]
    assert screen[-2].startswith("predicting: 100%")
    if not is_terminal:  # A file keeps what the bar has overwritten.
        assert {"note: before", "note: a", "b", "note: after"} <= {*written.split("\n")}
