"""Overlapping windows over a document's words: the input that a word is read in holds text on both of its sides.

As the original does with SQuAD's contexts, each word counts in the window where it stands most inside.
"""

import bisect
import dataclasses
import itertools


@dataclasses.dataclass(frozen=True)
class Window:
    """Words of a document, by number: from `start` up to `stop`, of which those from `first` up to `last` count."""

    start: int
    stop: int
    first: int
    last: int


def windows_of(lengths, room):
    """The windows of a document, as long as they may be; each begins half of that after the one before.

    The last one ends where the document does, and begins earlier than that if there is room.

    Args:
      lengths: pieces of each word, list of int from 1 to `room`.
      room: pieces that a window may hold.

    Returns:
      List of Windows, in whose order each word counts once.
    """
    offsets = [0, *itertools.accumulate(lengths)]  # where each word begins, and where the last ends
    num_words, bounds = len(lengths), []
    start = 0
    while True:
        stop = bisect.bisect_right(offsets, offsets[start] + room) - 1
        if stop >= num_words:
            break
        if not bounds or stop > bounds[-1][1]:  # else it lies within the one before, as a long word does not fit
            bounds.append((start, stop))
        # No word may be left out, however long words are.
        start = min(stop, max(start + 1, bisect.bisect_left(offsets, offsets[start] + room // 2)))
    bounds.append((bisect.bisect_left(offsets, offsets[-1] - room), num_words))
    best, number = [], 0  # of each word its window; of equal ones the first
    for word in range(num_words):
        while number + 1 < len(bounds) and (
                _inside(offsets, word, *bounds[number + 1]) > _inside(offsets, word, *bounds[number])):
            number += 1
        best.append(number)
    found = [Window(*bound, bisect.bisect_left(best, number), bisect.bisect_right(best, number))
             for number, bound in enumerate(bounds)]
    return [window for window in found if window.first < window.last]


def _inside(offsets, word, start, stop):
    """Pieces between a word and the nearer edge of a window; negative where the word is not wholly in it."""
    return min(offsets[word] - offsets[start], offsets[stop] - offsets[word + 1])
