"""Tables of what heads do: TSV files, and the numbers behind them as one .npz."""

import math
import os

import numpy as np

from bert_tf.analysis.behaviours import NAMES
from bert_tf.files import new_file
from run.attention.corpus.sums import OFFSETS

HEADS_FILE, RELATIONS_FILE, NUMBERS_FILE = "heads.tsv", "relations.tsv", "analysis.npz"
IMPORTANCE_FILE, CURVE_FILE = "importance.tsv", "curve.tsv"


def write_heads(folder, heads, measures):
    """A row a head: layer, head, each measure."""
    _write(os.path.join(folder, HEADS_FILE), ["layer", "head", *NAMES],
           [[*head, *values] for head, values in zip(heads, measures, strict=True)])


def write_relations(folder, heads, relations):
    """A row a relation and direction; relations: list of run.attention.corpus.relations.Relation."""
    names = ["relation", "direction", "cases", "layer", "head", "accuracy", "low", "high", "held_out", "offset",
             "offset_accuracy", "offset_low", "offset_high"]
    _write(os.path.join(folder, RELATIONS_FILE), names, [
        [each.name, each.direction, each.cases, *heads[each.head], each.score.value, each.score.low, each.score.high,
         math.nan if each.held_out is None else each.held_out, each.offset, each.baseline.value, each.baseline.low,
         each.baseline.high] for each in relations])


def write_curve(folder, curve):
    """Importances, a row a head, and scores, a row a number of heads that are out; curve: importance.Curve."""
    order = np.argsort(-curve.importance, kind="stable")
    _write(os.path.join(folder, IMPORTANCE_FILE), ["layer", "head", "importance"],
           [[*curve.heads[place], curve.importance[place]] for place in order])
    _write(os.path.join(folder, CURVE_FILE), ["heads_out", *curve.scores],
           [[count, *(scores[place] for scores in curve.scores.values())]
            for place, count in enumerate(curve.counts)])


def write_numbers(folder, heads, sums):
    """Writes all numbers.

    heads: int64 [K, 2]; measure_names: str [M], measures: float64 [K, M]; divergences: float64 [K, K], where heads were
    compared; with a treebank relations: str [R], hits: int64 [2 directions, 2 halves, R, K], cases: int64
    [2 halves, R], offsets: int64 [O], offset_hits: int64 [2 halves, R, O].
    """
    arrays = {"heads": np.array(heads, np.int64), "measure_names": np.array(NAMES), "measures": sums.measures()}
    if sums.num_compared:
        arrays["divergences"] = sums.mean_divergences()
    if sums.relations:
        arrays |= {"relations": np.array(sums.relations), "hits": sums.hits, "cases": sums.cases, "offsets": OFFSETS,
                   "offset_hits": sums.offsets}
    with new_file(os.path.join(folder, NUMBERS_FILE), "wb") as file:
        np.savez(file, **arrays)


def _write(path, names, rows):
    with new_file(path) as file:
        file.write("\t".join(names) + "\n")
        for row in rows:
            file.write("\t".join(map(_cell, row)) + "\n")


def _cell(value):
    """A number with five decimal places; nothing for NaN; a text without what would end its cell."""
    if isinstance(value, float | np.floating):
        return "" if math.isnan(value) else f"{value:.5f}"
    return " ".join(str(value).split()) if isinstance(value, str) else str(value)
