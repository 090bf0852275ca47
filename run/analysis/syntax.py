"""The best head for each dependency relation, compared with the best fixed offset.

See Clark et al. 2019, section 4.2.

Shape legend: B batch, WO words, LN heads of all layers, RE relations, OF offsets.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import stats

from run.analysis.behaviors import DIRECTIONS

MAX_OFFSET = 10  # Maximum fixed offset to compare heads with, in words, in both directions.
OFFSETS = np.array([offset for offset in range(-MAX_OFFSET, MAX_OFFSET + 1) if offset])
HALVES = 2  # Sentences with even and odd numbers: a choice on one half is evaluated on the other.
ALL = "all"  # All relations together.


class Dependencies:
    """Counts over the sentences of a treebank.

    Args:
      relations: List of RE str.
      num_heads: int, LN.

    Attributes:
      relations: List of RE str.
      hits: int64 [2, 2, RE, LN]. Words whose head an attention head finds, by direction and half.
      cases: int64 [2, RE]. Words with a head, by half.
      offsets: int64 [2, RE, OF]. Words whose head is at this offset, by half.
    """

    def __init__(self, relations, num_heads):
        self.relations = relations
        self.hits = np.zeros([len(DIRECTIONS), HALVES, len(relations), num_heads], np.int64)
        self.cases = np.zeros([HALVES, len(relations)], np.int64)
        self.offsets = np.zeros([HALVES, len(relations), len(OFFSETS)], np.int64)

    def add(self, numbers, relations, heads, hits):
        """Adds sentences.

        Args:
          numbers: int [B]. Numbers of the sentences.
          relations: List of B lists of str. Relation of each word.
          heads: int [B, WO]. Index of each word's head, -1 if there is none, and as padding.
          hits: bool [2, B, LN, WO]. Result of run.analysis.behaviors.hits for all layers.
        """
        known = {name: number for number, name in enumerate(self.relations)}
        rows, words = np.nonzero(heads >= 0)
        ids = np.array(
            [known[relations[row][word]] for row, word in zip(rows, words, strict=True)], np.int64
        )
        halves = np.asarray(numbers)[rows] % HALVES
        np.add.at(self.cases, (halves, ids), 1)
        offsets = heads[rows, words] - words
        near = np.abs(offsets) <= MAX_OFFSET
        np.add.at(
            self.offsets, (halves[near], ids[near], np.searchsorted(OFFSETS, offsets[near])), 1
        )
        for direction, found in enumerate(hits):
            np.add.at(self.hits[direction], (halves, ids), found[rows, :, words])

    def find_best(self, heads):
        """Returns dicts, one per relation and direction.

        ALL is first, followed by the most frequent relation.

        "head" finds most of the "cases", the words with a head in this relation: the fraction
        "accuracy", with its 95% confidence interval from "low" to "high". "held_out" is the
        fraction found in each half of the sentences by the head that is best on the other half, NaN
        if a half has no case; it lacks the bias of selecting among many heads. "offset" is the
        offset from a word to its head, in words, that is correct most often.

        Args:
          heads: List of K (layer, head).
        """
        names = [ALL, *self.relations]
        hits, cases, offsets = (
            np.concatenate([values.sum(axis=axis, keepdims=True), values], axis=axis)
            for values, axis in ((self.hits, 2), (self.cases, 1), (self.offsets, 1))
        )
        order = sorted(
            (index for index in range(len(names)) if cases[:, index].sum()),
            key=lambda index: (-cases[:, index].sum(), names[index] != ALL),
        )
        return [
            {
                "relation": names[index],
                "direction": direction,
                **_score(heads, hits[number, :, index], cases[:, index], offsets[:, index]),
            }
            for index in order
            for number, direction in enumerate(DIRECTIONS)
        ]


def _score(heads, hits, cases, offsets):
    """Computes values of a relation from hits [2, LN], cases [2], and offsets [2, OF], by half."""
    total = int(cases.sum())
    head = hits.sum(axis=0).argmax()
    offset = offsets.sum(axis=0).argmax()
    held_out = (
        (hits[0, hits[1].argmax()] + hits[1, hits[0].argmax()]) / total if cases.all() else math.nan
    )
    by_head = _compute_proportion(hits[:, head].sum(), total)
    by_offset = _compute_proportion(offsets[:, offset].sum(), total)
    return {
        "cases": total,
        "layer": heads[head][0],
        "head": heads[head][1],
        "accuracy": by_head.fraction,
        "low": by_head.low,
        "high": by_head.high,
        "held_out": held_out,
        "offset": int(OFFSETS[offset]),
        "offset_accuracy": by_offset.fraction,
        "offset_low": by_offset.low,
        "offset_high": by_offset.high,
    }


class _Proportion(NamedTuple):
    """A fraction of cases, with its 95% confidence interval: Wilson's score interval."""

    fraction: float
    low: float
    high: float


def _compute_proportion(hits, cases):
    """Returns the _Proportion of hits among cases."""
    interval = stats.binomtest(int(hits), cases).proportion_ci(method="wilson")
    return _Proportion(hits / cases, interval.low, interval.high)
