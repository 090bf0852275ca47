"""The best head for each dependency relation, beside the best fixed offset (Clark et al. 2019, section 4.2)."""

import dataclasses

import numpy as np
from scipy import stats

from bert_tf.analysis.dependencies import DIRECTIONS
from run.attention.corpus.sums import OFFSETS

ALL = "all"


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
