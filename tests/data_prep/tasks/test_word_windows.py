"""Windows over documents: by hand, and the properties of all documents."""

import itertools

import numpy as np
import pytest

from data_prep.tasks.word_features import WordRange, compute_windows


@pytest.mark.parametrize(("lengths", "windows"), [
    # Two windows have one token on the nearer side of word 4, and two of word 6: the first window counts.
    ([1] * 10, [WordRange(0, 6, 0, 5), WordRange(3, 9, 5, 7), WordRange(4, 10, 7, 10)]),
    ([2, 1, 3], [WordRange(0, 3, 0, 3)]),
    ([6, 6, 5], [WordRange(0, 1, 0, 1), WordRange(1, 2, 1, 2), WordRange(2, 3, 2, 3)]),
])
def test_windows_of_six_tokens_by_hand(lengths, windows):
    assert compute_windows(lengths, 6) == windows


@pytest.mark.parametrize("seed", range(20))
def test_each_word_counts_once_in_the_window_with_the_most_context(seed):
    rng = np.random.default_rng(seed)
    room = int(rng.integers(2, 30))
    lengths = rng.integers(1, room + 1 if seed % 2 else min(4, room + 1), rng.integers(1, 120)).tolist()
    windows = compute_windows(lengths, room)
    assert list(itertools.chain(*(range(each.first, each.last) for each in windows))) == list(range(len(lengths)))
    offsets = np.concatenate([[0], np.cumsum(lengths)])

    def count_context(word, window):
        return min(offsets[word] - offsets[window.start], offsets[window.stop] - offsets[word + 1])

    for window in windows:
        assert offsets[window.stop] - offsets[window.start] <= room
        for word in range(window.first, window.last):
            context = count_context(word, window)
            assert context >= max(0, *(count_context(word, other) for other in (*windows, window)))
            # Far from the ends of a document, every word has text on both sides.
            if max(lengths) < 4 and offsets[word] >= 4 and offsets[word + 1] <= offsets[-1] - 4 and len(windows) > 1:
                assert context >= min(room // 4 - 4, 4)
