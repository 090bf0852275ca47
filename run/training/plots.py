"""Plots of results.

Matplotlib takes half a second to import, so that happens with the first plot.
"""

import os

import numpy as np

from bert_tf.files import new_file
from run.training.results import select_distinct

LOSS_FILE = "loss.png"
MOST_CELLS_WITH_NUMBERS = 400


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
    if counts.size <= MOST_CELLS_WITH_NUMBERS:
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


def loss_curves(folder, training, evaluation):
    """Plots losses, and below them all other metrics, to `loss.png`. Skips runs without steps.

    Args:
      folder: Path of the run's directory.
      training, evaluation: `run.training.logs.Log`.
    """
    if not training.rows:
        return
    trained = training.curves()
    evaluated = select_distinct(evaluation.curves())
    has_others = any("loss" not in name for name in (*trained, *evaluated))
    figure = create_figure(figsize=(8, 8 if has_others else 5), layout="constrained")
    panels = figure.subplots(2 if has_others else 1, squeeze=False, sharex=True)[:, 0]
    for curves, style, source in (
        (trained, ".-" if len(training.rows) == 1 else "-", ""),
        (evaluated, "--.", "evaluation: "),
    ):
        for name, curve in curves.items():
            panels[0 if "loss" in name else 1].plot(
                *curve, style, label=source + name.replace("_", " ")
            )
    panels[0].set(ylabel="loss (nats)", title="Losses", ylim=(0, None))
    if has_others:
        panels[1].set(title="Other metrics")
    for panel in panels:
        panel.grid(alpha=0.3)
        panel.legend()
    panels[-1].set(xlabel="step")
    panels[-1].xaxis.get_major_locator().set_params(integer=True)
    save_figure(figure, os.path.join(folder, LOSS_FILE))


def create_figure(**options):
    """Creates a matplotlib Figure."""
    from matplotlib.figure import Figure  # pyplot would require a display

    return Figure(**options)


def save_figure(figure, path):
    """Writes a Figure to a PNG file."""
    with new_file(path, "wb") as file:
        figure.savefig(file, format="png", dpi=120)
