"""Spans from the start and end scores of windows, in NumPy.

The rules are the same as in the original's `write_predictions`. Scores are added in the precision
of the input. Equal scores keep the original's order. The graph of
`bert_tf.tasks.span_labeler.graph` computes the same.

Shape legend: S sequence, SP spans, CT tokens of contexts.
"""

from typing import NamedTuple

import numpy as np

# The original's default: number of starts and ends to try per window, and of spans to consider.
N_BEST_SIZE = 20
NO_SPAN = -1e6  # Score if a context has no span; JSON has no infinity.


class Window(NamedTuple):
    """A window of a context: 0-based index of its first token, and number of tokens."""

    start: int
    length: int


class ScoredWindow(NamedTuple):
    """A row that contains a window, and its scores."""

    begin: int  # Position of the window's first token in the row.
    # bool [length]. Whether no other window shows more context of each token of the window.
    is_fullest: np.ndarray
    start_scores: np.ndarray  # float [S].
    end_scores: np.ndarray


class Spans(NamedTuple):
    """Possible answers."""

    windows: np.ndarray  # int64 [SP]. Number of the window.
    starts: np.ndarray  # int64 [SP]. First and last position in the window's row.
    ends: np.ndarray
    start_scores: np.ndarray  # float [SP].
    end_scores: np.ndarray


NO_SPANS = Spans(
    *(np.zeros(0, dtype) for dtype in (np.int64, np.int64, np.int64, np.float32, np.float32))
)


def list_windows(total, room, doc_stride, max_windows=None):
    """Splits a context into overlapping windows, as the original's `convert_examples_to_features`.

    Args:
      total, room: int. Tokens of the context, and maximum number of tokens of a window.
      doc_stride: int. Tokens between the starts of two windows, at most the length of a window.
      max_windows: int, or None for no limit.

    Returns:
      Tuple `(windows, was_cut)`: list of Window, at least one; bool, whether the context requires
      more windows.
    """
    step = min(room, doc_stride)
    required = 1 + -(-max(total - room, 0) // step)
    count = min(required, max_windows or required)
    starts = range(0, step * count, step)
    return [Window(start, min(room, total - start)) for start in starts], count < required


def find_fullest_windows(windows):
    """Finds the window that shows the most context of each token.

    Like the original's `_check_is_max_context`, it maximizes the smaller number of tokens on the
    left and right, plus a hundredth of the window's length. Among equal windows, the first one
    wins.

    Args:
      windows: The Windows of a context, in order.

    Returns:
      int32 [CT]. Number of the window for each token.
    """
    total = windows[-1].start + windows[-1].length
    fullest = np.zeros(total, np.int32)
    best = np.full(total, -1.0)
    for number, (start, length) in enumerate(windows):
        tokens = slice(start, start + length)
        left = np.arange(length)
        context = np.minimum(left, left[::-1]) + 0.01 * length  # float64, as in Python
        is_better = context > best[tokens]
        best[tokens][is_better] = context[is_better]
        fullest[tokens][is_better] = number
    return fullest


def find_spans(windows, n_best_size, max_answer_length):
    """Finds possible answers among the `n_best_size` best starts and ends of each ScoredWindow.

    Returns:
      Spans of at most `max_answer_length` tokens, in the order in which the original considers
      them.
    """
    candidates = [NO_SPANS]
    for number, window in enumerate(windows):
        starts, ends = (
            _select_in_window(rank(scores, n_best_size), window)
            for scores in (window.start_scores, window.end_scores)
        )
        starts = starts[window.is_fullest[starts - window.begin]]
        lengths = ends - starts[:, np.newaxis] + 1
        row, column = np.nonzero((lengths >= 1) & (lengths <= max_answer_length))
        starts = starts[row]
        ends = ends[column]
        candidates.append(
            Spans(
                np.full(len(starts), number),
                starts,
                ends,
                window.start_scores[starts],
                window.end_scores[ends],
            )
        )
    return Spans(*map(np.concatenate, zip(*candidates, strict=True)))


def _select_in_window(positions, window):
    """Returns those positions of a row that are in its ScoredWindow."""
    end = window.begin + len(window.is_fullest)
    return positions[(positions >= window.begin) & (positions < end)]


def rank(scores, count=None):
    """Returns the positions of the `count` largest of float [SP], descending.

    Equal values keep their order.
    """
    return np.argsort(-scores, kind="stable")[:count]
