"""Sums over a corpus, and the best head for each dependency relation.

The best head is compared with the best fixed offset (Clark et al. 2019, section 4.2). Legend: K heads of all layers, M
measures, R relations, O offsets.
"""

import dataclasses

import numpy as np
from scipy import stats

from bert_tf.analysis.behaviors import DIRECTIONS, MEASURES

MAX_OFFSET = 10  # Maximum fixed offset to compare heads with, in words, in both directions.
OFFSETS = np.array([offset for offset in range(-MAX_OFFSET, MAX_OFFSET + 1) if offset])
HALVES = 2  # Sentences with even and odd numbers: a choice on one half is evaluated on the other.
ALL = "all"  # All relations together.


@dataclasses.dataclass
class Sums:
    """Sums over the texts and sentences read so far.

    Attributes:
      num_texts, num_cut: int. Numbers of texts, and of truncated texts.
      num_sentences, num_skipped: int. Numbers of treebank sentences, and of sentences that are too long.
      totals: float64 [K, M]; counts: float64 [M]. See bert_tf.analysis.behaviors.
      divergences: float64 [K, K]; num_compared: number of tokens in these sums.
      relations: List of R str.
      hits: int64 [2, 2, R, K], by direction and half; cases: int64 [2, R], words with a head, by half.
      offsets: int64 [2, R, O]. Number of words whose head is at this offset.
    """

    num_texts: int
    num_cut: int
    num_sentences: int
    num_skipped: int
    totals: np.ndarray
    counts: np.ndarray
    divergences: np.ndarray
    num_compared: float
    relations: list
    hits: np.ndarray
    cases: np.ndarray
    offsets: np.ndarray

    @classmethod
    def empty(cls, num_heads):
        """Creates the sums of a new run, for a model of K heads."""
        return cls(0, 0, 0, 0, np.zeros([num_heads, len(MEASURES)]), np.zeros(len(MEASURES)),
                   np.zeros([num_heads, num_heads]), 0.0, [],
                   np.zeros([len(DIRECTIONS), HALVES, 0, num_heads], np.int64), np.zeros([HALVES, 0], np.int64),
                   np.zeros([HALVES, 0, len(OFFSETS)], np.int64))

    def add_dependencies(self, numbers, relations, heads, hits):
        """Adds sentences of a treebank.

        Args:
          numbers: int [B]. Numbers of the sentences.
          relations: List of B lists of str. Relation of each word.
          heads: int [B, W]. Index of each word's head, -1 if there is none, and as padding.
          hits: bool [2, B, K, W]. Result of bert_tf.analysis.behaviors.hits for all layers.
        """
        known = {name: place for place, name in enumerate(self.relations)}
        for name in (name for each in relations for name in each):
            known.setdefault(name, len(known))
        new = len(known) - len(self.relations)
        self.relations = list(known)
        self.hits = np.pad(self.hits, [(0, 0), (0, 0), (0, new), (0, 0)])
        self.cases = np.pad(self.cases, [(0, 0), (0, new)])
        self.offsets = np.pad(self.offsets, [(0, 0), (0, new), (0, 0)])
        rows, places = np.nonzero(heads >= 0)
        ids = np.array([known[relations[row][place]] for row, place in zip(rows, places, strict=True)], np.int64)
        halves = np.asarray(numbers)[rows] % HALVES
        np.add.at(self.cases, (halves, ids), 1)
        away = heads[rows, places] - places
        offset = np.searchsorted(OFFSETS, away)
        near = np.abs(away) <= MAX_OFFSET
        np.add.at(self.offsets, (halves[near], ids[near], offset[near]), 1)
        member = np.zeros([HALVES * len(known), len(rows)])
        member[halves * len(known) + ids, np.arange(len(rows))] = 1
        case_hits = hits[:, rows, :, places].astype(np.float64)  # [cases, 2, K]: index arrays precede slices
        for direction in range(len(DIRECTIONS)):
            summed = member @ case_hits[:, direction]  # Integers, exact in float64.
            self.hits[direction] += summed.reshape(HALVES, len(known), -1).astype(np.int64)

    def measures(self):
        """Returns the means over all tokens, float64 [K, M], NaN if no token has a measure."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.counts > 0, self.totals / self.counts, np.nan)

    def mean_divergences(self):
        """Returns the mean Jensen-Shannon divergences over tokens, float64 [K, K], or None if not computed."""
        return self.divergences / self.num_compared if self.num_compared else None


@dataclasses.dataclass(frozen=True)
class Proportion:
    """A fraction of cases with its 95% confidence interval (Wilson's score interval)."""

    value: float
    low: float
    high: float

    @classmethod
    def from_counts(cls, hits, cases):
        """Computes the fraction from integers."""
        interval = stats.binomtest(int(hits), int(cases)).proportion_ci(method="wilson")
        return cls(hits / cases, interval.low, interval.high)


@dataclasses.dataclass(frozen=True)
class Relation:
    """Results for a relation in one direction.

    Attributes:
      name: str. Name of the relation; ALL for all together.
      direction: str. One of DIRECTIONS.
      cases: int. Number of words with a head in this relation.
      head: int. Index of the best head.
      score: Proportion. Fraction of the cases that it finds.
      held_out: float. Fraction of the cases in each half of the sentences found by the head that is best on the other
        half. Lower than `score` by the bias of selecting among many heads. None if a half has no case.
      offset: int. Fixed offset from a word to its head that is correct most often, in words.
      baseline: Proportion. Fraction of the cases that it finds.
    """

    name: str
    direction: str
    cases: int
    head: int
    score: Proportion
    held_out: float | None
    offset: int
    baseline: Proportion


def compute_relations(sums):
    """Returns the Relations of Sums, ALL first, then the most frequent, both directions of each."""
    if not sums.relations:
        return []
    names = [ALL, *sums.relations]
    hits, cases, offsets = (np.concatenate([values.sum(axis=axis, keepdims=True), values], axis=axis)
                            for values, axis in ((sums.hits, 2), (sums.cases, 1), (sums.offsets, 1)))
    order = sorted((place for place in range(len(names)) if cases[:, place].sum()),
                   key=lambda place: (-cases[:, place].sum(), names[place] != ALL))
    return [_relation(names[place], direction, hits[number, :, place], cases[:, place], offsets[:, place])
            for place in order for number, direction in enumerate(DIRECTIONS)]


def _relation(name, direction, hits, cases, offsets):
    """Creates a Relation from hits [2, K], cases [2], and offsets [2, O], by half."""
    total = cases.sum()
    head, offset = int(hits.sum(axis=0).argmax()), int(offsets.sum(axis=0).argmax())
    held_out = None
    if cases.all():
        held_out = float((hits[0, hits[1].argmax()] + hits[1, hits[0].argmax()]) / total)
    return Relation(name, direction, int(total), head, Proportion.from_counts(hits[:, head].sum(), total), held_out,
                    int(OFFSETS[offset]), Proportion.from_counts(offsets[:, offset].sum(), total))
