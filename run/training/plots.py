"""Plots of results.

Matplotlib takes half a second to import, so that happens with the first plot.
"""

import os
import re
import warnings
from typing import NamedTuple

import numpy as np

from bert_tf import notes
from bert_tf.files import new_file
from run.training.results import select_distinct

MISSING_GLYPH = r"Glyph \d+ .* missing from"  # A warning of matplotlib.
LOSS_FILE = "loss.png"
MAX_CELLS_WITH_NUMBERS = 400
# The axis of updates is logarithmic if their largest value is this many times the median: a peak of
# the gradient's norm would otherwise hide all other values.
PEAK = 20
LEGEND_ANCHOR = (1.14, 1)  # Right of the panel and of an axis on its right, in its sizes.


def confusion_matrix(path, labels, predictions, names):
    """Plots the counts of predicted labels for each true label to a PNG file.

    Args:
      path: Path of the file.
      labels, predictions: int [n]. Label IDs.
      names: Sequence of str. Label names in the order of their IDs.
    """
    counts = np.zeros([len(names), len(names)], int)
    np.add.at(counts, (labels, predictions), 1)
    fractions = counts / np.maximum(1, counts.sum(axis=1, keepdims=True))
    size = min(20, 3 + 0.5 * len(names))
    figure = create_figure(figsize=(size + 1, size), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(fractions, cmap="Blues", vmin=0, vmax=1)
    if counts.size <= MAX_CELLS_WITH_NUMBERS:
        for row, column in np.ndindex(counts.shape):
            axes.text(
                column,
                row,
                counts[row, column],
                ha="center",
                va="center",
                color="white" if fractions[row, column] > 0.5 else "black",
            )
    axes.set_xticks(range(len(names)), names, rotation=90)
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel="predicted", ylabel="label", title=f"{len(labels):,} examples")
    figure.colorbar(image, label="fraction of the label's examples")
    save_figure(figure, path)


class Curve(NamedTuple):
    """A curve of a panel: the values of a metric by step."""

    name: str
    label: str
    points: tuple  # Two sequences, steps and values.
    style: str


def loss_curves(folder, training, evaluation):
    """Plots the curves of a run to `loss.png`; skips runs without steps.

    The panels show losses, the other values of updates, such as the norm of the gradient, and the
    other metrics of evaluations.

    Args:
      folder: Path of the run's directory.
      training, evaluation: `run.training.logs.Log`.
    """
    if not training.rows:
        return
    panels = {}  # Title -> curves.
    for curves, style, source, others in (
        (training.curves(), ".-" if len(training.rows) == 1 else "-", "", "Updates"),
        (select_distinct(evaluation.curves()), "--.", "evaluation: ", "Other metrics"),
    ):
        for name, points in curves.items():
            title = "Losses" if "loss" in name else others
            label = source + name.replace("_", " ")
            panel = panels.setdefault(title, [])
            if all(points != curve.points for curve in panel):  # The other one would be hidden.
                panel.append(Curve(name, label, points, style))
    figure = create_figure(figsize=(10, 2 + 3 * len(panels)), layout="constrained")
    for axes, (title, curves) in zip(
        figure.subplots(len(panels), squeeze=False, sharex=True)[:, 0], panels.items(), strict=True
    ):
        _plot_panel(axes, title, curves)
    axes.set(xlabel="step")
    axes.xaxis.get_major_locator().set_params(integer=True)
    save_figure(figure, os.path.join(folder, LOSS_FILE))


def _plot_panel(axes, title, curves):
    """Plots curves. Rates have an axis on the right, and the legend is next to it."""
    right = None
    if any(curve.name.endswith("_rate") for curve in curves):
        right = axes.twinx()
        right.set(ylabel="rate")
    lines = []
    for curve in curves:
        is_rate = curve.name.endswith("_rate")
        options = {"color": "gray"} if is_rate else {}
        own_axes = right if is_rate else axes
        lines += own_axes.plot(*curve.points, curve.style, label=curve.label, **options)
    axes.set(title=title)
    if title == "Losses":
        axes.set(ylabel="loss (nats)")
    values = np.concatenate([line.get_ydata() for line in axes.lines or lines])
    if title == "Updates" and values.max() > PEAK * np.median(values) > 0:
        axes.set(yscale="log")
    elif title in ("Losses", "Updates"):
        axes.set(ylim=(0, None))
    if right:
        right.set(ylim=(0, None))
    axes.grid(alpha=0.3)
    axes.legend(handles=lines, loc="upper left", bbox_to_anchor=LEGEND_ANCHOR, fontsize="small")


def create_figure(**options):
    """Creates a matplotlib Figure."""
    from matplotlib.figure import Figure  # pyplot would require a display

    return Figure(**options)


def save_figure(figure, path):
    """Writes a Figure to a PNG file.

    Prints a note if the font of matplotlib lacks characters, instead of a warning for each of them.
    """
    with new_file(path, "wb") as file, warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", MISSING_GLYPH)
        figure.savefig(file, format="png", dpi=120)
    glyphs = {str(each.message) for each in caught if re.match(MISSING_GLYPH, str(each.message))}
    for each in caught:
        if str(each.message) not in glyphs:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    if glyphs:
        noun = "characters" if len(glyphs) > 1 else "character"
        notes.tell(f"{path}: the font lacks {len(glyphs)} {noun}, shown as boxes")
