"""Windows over documents: by hand, and what holds for any document."""

import itertools

import numpy as np
import pytest

from data_prep.tasks.document_windows import Window, windows_of


def test_a_document_by_hand():
    """Words of a piece each. Of word 4 two windows hold one piece to the nearer side, as of word 6 two: the first."""
    assert windows_of([1] * 10, 6) == [Window(0, 6, 0, 5), Window(3, 9, 5, 7), Window(4, 10, 7, 10)]


def test_a_document_that_fits():
    assert windows_of([2, 1, 3], 6) == [Window(0, 3, 0, 3)]


def test_words_that_fill_windows():
    assert windows_of([6, 6, 5], 6) == [Window(0, 1, 0, 1), Window(1, 2, 1, 2), Window(2, 3, 2, 3)]


@pytest.mark.parametrize("seed", range(20))
def test_each_word_counts_once_where_it_stands_most_inside(seed):
    rng = np.random.default_rng(seed)
    room = int(rng.integers(2, 30))
    lengths = rng.integers(1, room + 1 if seed % 2 else min(4, room + 1), rng.integers(1, 120)).tolist()
    windows = windows_of(lengths, room)
    assert list(itertools.chain(*(range(each.first, each.last) for each in windows))) == list(range(len(lengths)))
    offsets = np.concatenate([[0], np.cumsum(lengths)])

    def inside(word, each):
        return min(offsets[word] - offsets[each.start], offsets[each.stop] - offsets[word + 1])

    for each in windows:
        assert offsets[each.stop] - offsets[each.start] <= room
        for word in range(each.first, each.last):
            assert inside(word, each) >= max(0, *(inside(word, other) for other in (*windows, each)))
    if len(windows) > 1 and max(lengths) < 4:
        # What stands two words or more from an end of the document has text on both sides.
        assert min(inside(word, each) for each in windows for word in range(each.first, each.last)
                   if offsets[word] >= 4 and offsets[word + 1] <= offsets[-1] - 4) >= min(room // 4 - 4, 4)
