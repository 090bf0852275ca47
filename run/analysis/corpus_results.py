"""Results of an analysis: TSV tables, their numbers as one .npz file, and PNG plots."""

import math
import os

import numpy as np
from matplotlib.figure import Figure  # pyplot would require a display
from matplotlib.ticker import MaxNLocator

from bert_tf.analysis.behaviors import MEASURES, NAMES
from bert_tf.files import new_file
from run.analysis.corpus_sums import OFFSETS
from run.analysis.importance import BY_IMPORTANCE

HEADS_FILE, RELATIONS_FILE, NUMBERS_FILE = "heads.tsv", "relations.tsv", "analysis.npz"
IMPORTANCE_FILE, CURVE_FILE = "importance.tsv", "curve.tsv"
MEASURES_PLOT, RELATIONS_PLOT, CURVE_PLOT = "measures.png", "relations.png", "curve.png"
MAX_RELATIONS = 30  # Maximum number in a plot.
COLUMNS = 4  # Columns of panels.


def write_heads(folder, heads, measures):
    """Writes one row per head: layer, head, each measure."""
    _write(os.path.join(folder, HEADS_FILE), ["layer", "head", *NAMES],
           [[*head, *values] for head, values in zip(heads, measures, strict=True)])


def write_relations(folder, heads, relations):
    """Writes one row per relation and direction. `relations`: List of run.analysis.corpus_sums.Relation."""
    names = ["relation", "direction", "cases", "layer", "head", "accuracy", "low", "high", "held_out", "offset",
             "offset_accuracy", "offset_low", "offset_high"]
    _write(os.path.join(folder, RELATIONS_FILE), names, [
        [each.name, each.direction, each.cases, *heads[each.head], each.score.value, each.score.low, each.score.high,
         math.nan if each.held_out is None else each.held_out, each.offset, each.baseline.value, each.baseline.low,
         each.baseline.high] for each in relations])


def write_curve(folder, curve):
    """Writes importances, one row per head, and scores, one row per number of pruned heads."""
    order = np.argsort(-curve.importance, kind="stable")
    _write(os.path.join(folder, IMPORTANCE_FILE), ["layer", "head", "importance"],
           [[*curve.heads[place], curve.importance[place]] for place in order])
    _write(os.path.join(folder, CURVE_FILE), ["heads_out", *curve.scores],
           [[count, *(scores[place] for scores in curve.scores.values())]
            for place, count in enumerate(curve.counts)])


def write_numbers(folder, heads, sums):
    """Writes all numbers.

    heads: int64 [K, 2]; measure_names: str [M]; measures: float64 [K, M]; divergences: float64 [K, K], if heads were
    compared; with a treebank relations: str [R], hits: int64 [2 directions, 2 halves, R, K], cases: int64 [2 halves,
    R], offsets: int64 [O], offset_hits: int64 [2 halves, R, O].
    """
    arrays = {"heads": np.array(heads, np.int64), "measure_names": np.array(NAMES), "measures": sums.measures()}
    if sums.num_compared:
        arrays["divergences"] = sums.mean_divergences()
    if sums.relations:
        arrays |= {"relations": np.array(sums.relations), "hits": sums.hits, "cases": sums.cases, "offsets": OFFSETS,
                   "offset_hits": sums.offsets}
    with new_file(os.path.join(folder, NUMBERS_FILE), "wb") as file:
        np.savez(file, **arrays)


def draw_measures(folder, heads, values):
    """Plots one panel per measure with one cell per head. `values`: float64 [K, M]."""
    shown = [place for place in range(len(MEASURES)) if not np.isnan(values[:, place]).all()]
    rows, columns = (1 + max(column) for column in zip(*heads, strict=True))
    down = -(-len(shown) // COLUMNS)
    figure = Figure(figsize=(3.2 * COLUMNS, 0.8 + 2.6 * down), layout="constrained")
    panels = figure.subplots(down, COLUMNS, squeeze=False).ravel()
    for panel, place in zip(panels, shown, strict=False):
        table = np.full((rows, columns), np.nan)
        table[tuple(np.transpose(heads))] = values[:, place]
        highest = max(1.0, np.nanmax(table)) if not MEASURES[place].is_behavior else 1.0
        image = panel.imshow(table, cmap="Blues", vmin=0, vmax=highest, aspect="auto")
        panel.set(title=MEASURES[place].title, xlabel="head", ylabel="layer")
        for axis in (panel.xaxis, panel.yaxis):
            axis.set_major_locator(MaxNLocator(integer=True))
        figure.colorbar(image)
    for panel in panels[len(shown):]:
        panel.set_axis_off()
    _save(figure, folder, MEASURES_PLOT)


def draw_relations(folder, heads, relations):
    """Plots the best head and the best offset for the most frequent relations. `relations`: List of Relation."""
    names = list(dict.fromkeys(each.name for each in relations))[:MAX_RELATIONS]
    best = [max((each for each in relations if each.name == name), key=lambda each: each.score.value) for name in names]
    figure = Figure(figsize=(9, 1.5 + 0.34 * len(names)), layout="constrained")
    panel, places = figure.subplots(), np.arange(len(names))
    for shift, label, color, proportions in ((-0.2, "best head", "C0", [each.score for each in best]),
                                             (0.2, "best offset", "C7", [each.baseline for each in best])):
        values = np.array([proportion.value for proportion in proportions])
        errors = [np.maximum(values - [proportion.low for proportion in proportions], 0),
                  np.maximum([proportion.high for proportion in proportions] - values, 0)]
        panel.barh(places + shift, values, 0.4, xerr=errors, label=label, color=color)
    labels = [f"{each.name} ({each.cases:,}): {heads[each.head][0]}.{heads[each.head][1]}" for each in best]
    panel.set_yticks(places, labels)
    panel.set_ylim(len(names) - 0.4, -0.6)  # The first is at the top.
    panel.set(xlim=(0, 1), xlabel="fraction of cases, with 95% confidence intervals",
              title="relation (cases): best head, in the better direction")
    panel.legend()
    _save(figure, folder, RELATIONS_PLOT)


def draw_curve(folder, curve):
    """Plots the score by number of pruned heads. `curve`: run.analysis.importance.Curve."""
    figure = Figure(figsize=(8, 5), layout="constrained")
    panel = figure.subplots()
    panel.plot(curve.counts, curve.scores[BY_IMPORTANCE], "o-", label="least important first")
    others = np.array([scores for name, scores in curve.scores.items() if name != BY_IMPORTANCE])
    if len(others):
        panel.plot(curve.counts, others.mean(axis=0), "s--", color="C7", label=f"random order, mean of {len(others)}")
        panel.fill_between(curve.counts, others.min(axis=0), others.max(axis=0), color="C7", alpha=0.25)
    panel.set(xlabel=f"number of pruned heads (of {len(curve.heads)})", ylabel=curve.metric.removeprefix("eval_"))
    panel.legend()
    _save(figure, folder, CURVE_PLOT)


def _write(path, names, rows):
    with new_file(path) as file:
        file.write("\t".join(names) + "\n")
        for row in rows:
            file.write("\t".join(map(_cell, row)) + "\n")


def _cell(value):
    """Formats a number with five decimal places, NaN as an empty string, and a text on one line."""
    if isinstance(value, float | np.floating):
        return "" if math.isnan(value) else f"{value:.5f}"
    return " ".join(str(value).split()) if isinstance(value, str) else str(value)


def _save(figure, folder, name):
    with new_file(os.path.join(folder, name), "wb") as file:
        figure.savefig(file, dpi=110, format="png")
