"""Pictures of what heads do, as PNG files."""

import os

import numpy as np
from matplotlib.figure import Figure  # not pyplot: it would look for a screen
from matplotlib.ticker import MaxNLocator

from bert_tf.analysis.behaviours import MEASURES
from bert_tf.files import new_file
from run.attention.importance import BY_IMPORTANCE

MEASURES_FILE, RELATIONS_FILE, CURVE_FILE = "measures.png", "relations.png", "curve.png"
MOST_RELATIONS = 30
COLUMNS = 4


def measures(folder, heads, values):
    """A panel a measure: a cell a head. values: float64 [K, M]."""
    shown = [place for place in range(len(MEASURES)) if not np.isnan(values[:, place]).all()]
    rows, columns = (1 + max(column) for column in zip(*heads, strict=True))
    down = -(-len(shown) // COLUMNS)
    figure = Figure(figsize=(3.2 * COLUMNS, 0.8 + 2.6 * down), layout="constrained")
    panels = figure.subplots(down, COLUMNS, squeeze=False).ravel()
    for panel, place in zip(panels, shown, strict=False):
        table = np.full((rows, columns), np.nan)
        table[tuple(np.transpose(heads))] = values[:, place]
        highest = max(1.0, np.nanmax(table)) if not MEASURES[place].is_behaviour else 1.0
        image = panel.imshow(table, cmap="Blues", vmin=0, vmax=highest, aspect="auto")
        panel.set(title=MEASURES[place].title, xlabel="head", ylabel="layer")
        for axis in (panel.xaxis, panel.yaxis):
            axis.set_major_locator(MaxNLocator(integer=True))
        figure.colorbar(image)
    for panel in panels[len(shown):]:
        panel.set_axis_off()
    _save(figure, folder, MEASURES_FILE)


def relations(folder, heads, found):
    """For each of the most frequent relations the best head and the best offset; found: list of Relation."""
    names = list(dict.fromkeys(each.name for each in found))[:MOST_RELATIONS]
    best = [max((each for each in found if each.name == name), key=lambda each: each.score.value) for name in names]
    figure = Figure(figsize=(9, 1.5 + 0.34 * len(names)), layout="constrained")
    panel, places = figure.subplots(), np.arange(len(names))
    for shift, label, color, shares in ((-0.2, "best head", "C0", [each.score for each in best]),
                                        (0.2, "best offset", "C7", [each.baseline for each in best])):
        values = np.array([share.value for share in shares])
        errors = [np.maximum(values - [share.low for share in shares], 0),
                  np.maximum([share.high for share in shares] - values, 0)]
        panel.barh(places + shift, values, 0.4, xerr=errors, label=label, color=color)
    labels = [f"{each.name} ({each.cases:,}): {heads[each.head][0]}.{heads[each.head][1]}" for each in best]
    panel.set_yticks(places, labels)
    panel.set_ylim(len(names) - 0.4, -0.6)  # the first on top
    panel.set(xlim=(0, 1), xlabel="share of cases, with 95 % confidence intervals",
              title="relation (cases): best head, in its better direction")
    panel.legend()
    _save(figure, folder, RELATIONS_FILE)


def curve(folder, found):
    """The score as heads go; found: run.attention.importance.Curve."""
    figure = Figure(figsize=(8, 5), layout="constrained")
    panel = figure.subplots()
    panel.plot(found.counts, found.scores[BY_IMPORTANCE], "o-", label="the least important first")
    others = np.array([scores for name, scores in found.scores.items() if name != BY_IMPORTANCE])
    if len(others):
        panel.plot(found.counts, others.mean(axis=0), "s--", color="C7", label=f"random order, mean of {len(others)}")
        panel.fill_between(found.counts, others.min(axis=0), others.max(axis=0), color="C7", alpha=0.25)
    panel.set(xlabel=f"heads that are out, of {len(found.heads)}", ylabel=found.metric.removeprefix("eval_"))
    panel.legend()
    _save(figure, folder, CURVE_FILE)


def _save(figure, folder, name):
    with new_file(os.path.join(folder, name), "wb") as file:
        figure.savefig(file, dpi=110, format="png")
