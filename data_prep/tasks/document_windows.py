"""Overlapping windows over a document's words, so that the input for a word has text on both of its sides.

As in the original BERT for SQuAD contexts, each word counts in the window with the most context around it.
"""

import bisect
import dataclasses
import itertools


@dataclasses.dataclass(frozen=True)
class Window:
    """The words `start` to `stop` - 1 of a document. The words `first` to `last` - 1 count in this window."""

    start: int
    stop: int
    first: int
    last: int


def compute_windows(lengths, max_tokens):
    """Returns the windows of a document, as long as possible. Each begins half a window after the previous one.

    The last window ends with the document, and begins earlier if there is space.

    Args:
      lengths: List of int. Number of tokens of each word, from 1 to `max_tokens`.
      max_tokens: int. Maximum number of tokens in a window.

    Returns:
      List of Window. Each word counts once, in the order of the windows.
    """
    offsets = [0, *itertools.accumulate(lengths)]  # Start of each word, and end of the last one.
    num_words, bounds = len(lengths), []
    start = 0
    while True:
        stop = bisect.bisect_right(offsets, offsets[start] + max_tokens) - 1
        if stop >= num_words:
            break
        if not bounds or stop > bounds[-1][1]:  # Otherwise inside the previous one, before a long word.
            bounds.append((start, stop))
        # Every word must be in a window, however long words are.
        start = min(stop, max(start + 1, bisect.bisect_left(offsets, offsets[start] + max_tokens // 2)))
    bounds.append((bisect.bisect_left(offsets, offsets[-1] - max_tokens), num_words))
    best, number = [], 0  # Best window of each word; the first for ties.
    for word in range(num_words):
        while number + 1 < len(bounds) and (
                _count_context(offsets, word, *bounds[number + 1]) > _count_context(offsets, word, *bounds[number])):
            number += 1
        best.append(number)
    windows = [Window(*bound, bisect.bisect_left(best, number), bisect.bisect_right(best, number))
             for number, bound in enumerate(bounds)]
    return [window for window in windows if window.first < window.last]


def _count_context(offsets, word, start, stop):
    """Counts the tokens between a word and the nearer edge of a window; negative if it does not contain the word."""
    return min(offsets[word] - offsets[start], offsets[stop] - offsets[word + 1])
