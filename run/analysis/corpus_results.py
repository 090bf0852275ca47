"""Results of an analysis: TSV tables, their numbers as one .npz file, and PNG plots."""

import math
import os

import numpy as np
from matplotlib.ticker import MaxNLocator

from bert_tf.analysis.behaviors import MEASURES, NAMES
from bert_tf.files import new_file
from run.analysis.syntax import OFFSETS
from run.evaluation import plots

MAX_RELATIONS = 30  # Maximum number in a plot.
COLUMNS = 4  # Columns of panels.


def write_table(folder, name, rows):
    """Writes dicts with the same keys, the header: float with five decimal places, NaN as an empty string."""
    def format_cell(value):
        if isinstance(value, float | np.floating):
            return "" if math.isnan(value) else f"{value:.5f}"
        return " ".join(str(value).split())

    with new_file(os.path.join(folder, name)) as file:
        for cells in (rows[0], *(row.values() for row in rows)):
            file.write("\t".join(map(format_cell, cells)) + "\n")


def write_numbers(folder, heads, measures, dependencies):
    """Writes analysis.npz. `dependencies`: Dependencies, or None.

    heads: int64 [K, 2]; measure_names: str [M]; measures: float64 [K, M]; with a treebank relations: str [R], hits:
    int64 [2 directions, 2 halves, R, K], cases: int64 [2 halves, R], offsets: int64 [O], offset_hits: int64 [2 halves,
    R, O].
    """
    arrays = {"heads": np.array(heads, np.int64), "measure_names": np.array(NAMES), "measures": measures}
    if dependencies:
        arrays |= {"relations": np.array(dependencies.relations), "hits": dependencies.hits,
                   "cases": dependencies.cases, "offsets": OFFSETS, "offset_hits": dependencies.offsets}
    with new_file(os.path.join(folder, "analysis.npz"), "wb") as file:
        np.savez(file, **arrays)


def draw_measures(folder, heads, values):
    """Plots one panel per measure with one cell per head. `values`: float64 [K, M]."""
    shown = [place for place in range(len(MEASURES)) if not np.isnan(values[:, place]).all()]
    rows, columns = (1 + max(column) for column in zip(*heads, strict=True))
    down = -(-len(shown) // COLUMNS)
    figure = plots.create_figure(figsize=(3.2 * COLUMNS, 0.8 + 2.6 * down), layout="constrained")
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
    plots.save_figure(figure, os.path.join(folder, "measures.png"))


def choose_directions(relations, most):
    """Returns the better direction of each of the most frequent relations, from Dependencies.find_best."""
    names = list(dict.fromkeys(row["relation"] for row in relations))[:most]
    return [max((row for row in relations if row["relation"] == name), key=lambda row: row["accuracy"])
            for name in names]


def draw_relations(folder, relations):
    """Plots the best head and the best offset for the most frequent relations. See Dependencies.find_best."""
    rows = choose_directions(relations, MAX_RELATIONS)
    figure = plots.create_figure(figsize=(9, 1.5 + 0.34 * len(rows)), layout="constrained")
    panel, places = figure.subplots(), np.arange(len(rows))
    for shift, label, color, prefix in ((-0.2, "best head", "C0", ""), (0.2, "best offset", "C7", "offset_")):
        values, low, high = (np.array([row[prefix + name] for row in rows]) for name in ("accuracy", "low", "high"))
        errors = [np.maximum(values - low, 0), np.maximum(high - values, 0)]
        panel.barh(places + shift, values, 0.4, xerr=errors, label=label, color=color)
    panel.set_yticks(places, [f"{row['relation']} ({row['cases']:,}): {row['layer']}.{row['head']}" for row in rows])
    panel.set_ylim(len(rows) - 0.4, -0.6)  # The first is at the top.
    panel.set(xlim=(0, 1), xlabel="fraction of cases, with 95% confidence intervals",
              title="relation (cases): best head, in the better direction")
    panel.legend()
    plots.save_figure(figure, os.path.join(folder, "relations.png"))


def draw_curve(folder, curve, metric):
    """Plots the score by number of pruned heads. `curve`: See run.analysis.importance.measure_curve."""
    counts, by_importance, *others = zip(*(point.values() for point in curve), strict=True)
    figure = plots.create_figure(figsize=(8, 5), layout="constrained")
    panel = figure.subplots()
    panel.plot(counts, by_importance, "o-", label="least important first")
    panel.plot(counts, np.mean(others, axis=0), "s--", color="C7", label=f"random order, mean of {len(others)}")
    panel.fill_between(counts, np.min(others, axis=0), np.max(others, axis=0), color="C7", alpha=0.25)
    panel.set(xlabel=f"number of pruned heads (of {counts[-1]})", ylabel=metric.removeprefix("eval_"))
    panel.legend()
    plots.save_figure(figure, os.path.join(folder, "curve.png"))
