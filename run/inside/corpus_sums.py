"""Sums over a corpus, kept so that a run that was stopped goes on, and the best head for each dependency relation.

The best head stands beside the best fixed offset (Clark et al. 2019, section 4.2). Legend: K heads of all layers, M
measures, R relations, O offsets.
"""

import dataclasses
import os
import zipfile

import numpy as np
from scipy import stats

from bert_tf import files
from bert_tf.analysis.behaviours import MEASURES
from bert_tf.analysis.dependencies import DIRECTIONS
from bert_tf.errors import InputError
from bert_tf.files import new_file

STATE_FILE = "state.npz"
MOST_OFFSET = 10  # words, either way: fixed offsets that heads are compared with
OFFSETS = np.array([offset for offset in range(-MOST_OFFSET, MOST_OFFSET + 1) if offset])
HALVES = 2  # sentences with even and with odd numbers, so that what is chosen on one half is judged on the other
ALL = "all"  # relations together


@dataclasses.dataclass
class Sums:
    """Sums over what has been read so far.

    Attributes:
      num_texts, num_cut: texts read, and those of them that were cut.
      num_sentences, num_skipped: sentences of the treebank read, and those of them that were too long.
      totals: float64 [K, M]; counts: float64 [M], of bert_tf.analysis.behaviours.
      divergences: float64 [K, K]; num_compared: tokens that they are sums over.
      relations: list of R str.
      hits: int64 [2, 2, R, K], by direction and half; cases: int64 [2, R], words with a head, by half.
      offsets: int64 [2, R, O], of the words those whose head is so far away.
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
        """Those of a run that begins, of a model of K heads."""
        return cls(0, 0, 0, 0, np.zeros([num_heads, len(MEASURES)]), np.zeros(len(MEASURES)),
                   np.zeros([num_heads, num_heads]), 0.0, [],
                   np.zeros([len(DIRECTIONS), HALVES, 0, num_heads], np.int64), np.zeros([HALVES, 0], np.int64),
                   np.zeros([HALVES, 0, len(OFFSETS)], np.int64))

    @classmethod
    def read(cls, folder, num_heads):
        """Those that a folder keeps; empty ones where it keeps none; InputError for a file that is damaged."""
        path = os.path.join(folder, STATE_FILE)
        if not files.exists(path):
            return cls.empty(num_heads)
        try:
            with files.local_copy(path) as local, np.load(local) as arrays:
                values = {name: arrays[name] for name in arrays.files}
            return cls(**{name: value if value.ndim else value.item() for name, value in values.items()}
                       | {"relations": values["relations"].tolist()})
        except (ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile) as error:  # TypeError: of other names
            raise InputError(f"{path}: is damaged ({error}); choose another folder, or remove this one to begin anew"
                             ) from error

    def write(self, folder):
        """Keeps them in a folder, in place of what it kept."""
        with new_file(os.path.join(folder, STATE_FILE), "wb") as file:
            np.savez(file, **{field.name: np.array(getattr(self, field.name), *([np.str_] if field.name == "relations"
                                                                               else []))
                              for field in dataclasses.fields(self)})

    def add_dependencies(self, numbers, relations, heads, hits):
        """Adds some sentences of a treebank.

        Args:
          numbers: int [B], the numbers of the sentences.
          relations: list of B lists of str, of each word.
          heads: int [B, W], the number of each word's head; -1 where it has none, and past a sentence's end.
          hits: bool [2, B, K, W] of bert_tf.analysis.dependencies.hits, of all layers.
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
        near = np.abs(away) <= MOST_OFFSET
        np.add.at(self.offsets, (halves[near], ids[near], offset[near]), 1)
        member = np.zeros([HALVES * len(known), len(rows)])
        member[halves * len(known) + ids, np.arange(len(rows))] = 1
        found = hits[:, rows, :, places].astype(np.float64)  # [cases, 2, K]: indices beside a slice come first
        for direction in range(len(DIRECTIONS)):
            summed = member @ found[:, direction]  # whole numbers, exact in float64
            self.hits[direction] += summed.reshape(HALVES, len(known), -1).astype(np.int64)

    def measures(self):
        """The means over all tokens, float64 [K, M]; NaN where no token has a measure."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.counts > 0, self.totals / self.counts, np.nan)

    def mean_divergences(self):
        """Jensen-Shannon divergences, means over tokens, float64 [K, K]; None where none were computed."""
        return self.divergences / self.num_compared if self.num_compared else None


@dataclasses.dataclass(frozen=True)
class Share:
    """A share of cases with its 95 % confidence interval (Wilson's score interval)."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, hits, cases):
        """That of whole numbers."""
        interval = stats.binomtest(int(hits), int(cases)).proportion_ci(method="wilson")
        return cls(hits / cases, interval.low, interval.high)


@dataclasses.dataclass(frozen=True)
class Relation:
    """What was found of a relation in a direction.

    Attributes:
      name: of the relation; ALL for all together.
      direction: one of DIRECTIONS.
      cases: words with a head in this relation.
      head: place of the best head.
      score: its Share.
      held_out: share of the cases of each half of the sentences that the head which is best on the other half finds;
        lower than `score` by what choosing among many heads flatters it. None where a half has no case.
      offset: of the fixed offsets from a word to its head the one that is most often right, in words.
      baseline: its Share.
    """

    name: str
    direction: str
    cases: int
    head: int
    score: Share
    held_out: float | None
    offset: int
    baseline: Share


def relations_of(sums):
    """The Relations of Sums, the most frequent first, ALL before them, both directions of each."""
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
    """hits [2, K], cases [2] and offsets [2, O], by half."""
    total = cases.sum()
    head, offset = int(hits.sum(axis=0).argmax()), int(offsets.sum(axis=0).argmax())
    held_out = None
    if cases.all():
        held_out = float((hits[0, hits[1].argmax()] + hits[1, hits[0].argmax()]) / total)
    return Relation(name, direction, int(total), head, Share.of(hits[:, head].sum(), total), held_out,
                    int(OFFSETS[offset]), Share.of(offsets[:, offset].sum(), total))
