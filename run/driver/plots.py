"""Pictures of results."""


import numpy as np
from sklearn import metrics

from data_prep import partial_files

MOST_CELLS_WITH_NUMBERS = 400


def confusion_matrix(path, labels, predictions, names):
    """Draws how often each label was taken for each other into a PNG file.

    Args:
      path: of the file.
      labels, predictions: ids, int [n].
      names: the label names in the order of their ids.
    """
    import matplotlib

    matplotlib.use("Agg")  # draws into a file, on machines without a screen too
    from matplotlib import pyplot

    counts = metrics.confusion_matrix(labels, predictions, labels=range(len(names)))
    shares = counts / np.maximum(1, counts.sum(axis=1, keepdims=True))
    size = min(20, 3 + 0.5 * len(names))
    figure, axes = pyplot.subplots(figsize=(size + 1, size), layout="constrained")
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    if counts.size <= MOST_CELLS_WITH_NUMBERS:
        for row, column in np.ndindex(counts.shape):
            axes.text(column, row, counts[row, column], ha="center", va="center",
                      color="white" if shares[row, column] > 0.5 else "black")
    axes.set_xticks(range(len(names)), names, rotation=90)
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel="predicted", ylabel="label", title=f"{len(labels):,} examples")
    figure.colorbar(image, label="share of the label")
    with partial_files.written(path, "wb") as file:
        figure.savefig(file, format="png", dpi=120)
    pyplot.close(figure)
