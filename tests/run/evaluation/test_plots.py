"""Pictures are decoded, and what they show is measured in their pixels."""

import os

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import image

from run.evaluation import plots

NAMES = ("a", "b", "c", "never seen")
TRAINING_LINE = np.array(mpl.colors.to_rgb("tab:blue"))


class Log:
    """What `loss_curves` asks of a run.training.metrics_log.Log."""

    def __init__(self, **curves):
        self._curves = curves
        self.rows = list(curves)

    def curves(self):
        return self._curves


def decoded(path):
    """float [height, width, 3] of a PNG file, 0 black and 1 white; its transparency must be none."""
    pixels = image.imread(path, format="png")
    assert pixels[..., 3].min() == 1
    return pixels[..., :3]


def is_like(pixels, colour):
    return np.abs(pixels - colour).max(axis=-1) < 0.01


def shares_shown(pixels, size):
    """float [size, size] from 0 to 1: how dark each cell of a confusion matrix is, from white to the darkest blue."""
    colours = mpl.colormaps["Blues"]
    in_cells = is_like(pixels, colours(0.0)[:3]) | is_like(pixels, colours(1.0)[:3])
    # The colour bar has these colours too, but only at its ends.
    rows, columns = (np.flatnonzero(in_cells.mean(axis=axis) > 0.3) for axis in (1, 0))
    assert min(len(rows), len(columns)) > 200
    edges = [np.linspace(found[0], found[-1] + 1, size + 1).astype(int) for found in (rows, columns)]
    red = [[np.median(pixels[edges[0][row] + 4:edges[0][row + 1] - 4, edges[1][column] + 4:edges[1][column + 1] - 4, 0])
            for column in range(size)] for row in range(size)]
    lightest, darkest = colours(0.0)[0], colours(1.0)[0]
    return (lightest - np.array(red)) / (lightest - darkest)


@pytest.mark.parametrize(("labels", "predictions", "expected"), [
    ([0, 1, 2, 3, 3], [0, 1, 2, 3, 3], np.eye(4)),
    ([0, 1, 2, 2], [0, 2, 2, 2], [[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0]]),  # rows are labels
])
def test_confusion_matrix_is_dark_where_predictions_are(tmp_path, labels, predictions, expected):
    path = str(tmp_path / "confusion.png")
    plots.confusion_matrix(path, np.array(labels), np.array(predictions), NAMES)
    assert os.listdir(tmp_path) == ["confusion.png"]
    pixels = decoded(path)
    assert pixels.shape == (600, 720, 3)  # 5 and 6 inches at 120 dots
    np.testing.assert_allclose(shares_shown(pixels, 4), expected, rtol=0, atol=0.02)


def test_confusion_matrix_of_shares_in_between(tmp_path):
    path = str(tmp_path / "confusion.png")
    plots.confusion_matrix(path, np.array([0, 0, 0, 0, 1, 2, 3]), np.array([0, 0, 0, 1, 1, 2, 3]), NAMES)
    shown = shares_shown(decoded(path), 4)
    np.testing.assert_allclose(shown[1:], np.eye(4)[1:], rtol=0, atol=0.02)
    assert 0.1 < shown[0, 1] < 0.5 < shown[0, 0] < 0.95


def test_many_labels_leave_the_numbers_out(tmp_path):
    path = str(tmp_path / "confusion.png")
    ids = np.arange(40)
    plots.confusion_matrix(path, ids, ids, [f"label {number}" for number in ids])
    pixels = decoded(path)
    assert pixels.shape == (2400, 2520, 3)
    np.testing.assert_allclose(shares_shown(pixels, 40), np.eye(40), rtol=0, atol=0.02)


def test_a_search_is_dark_where_it_scores(tmp_path):
    trials = [(size, rate, epochs, None if (size, rate) == (32, 2e-5) else 0.5 + 0.1 * (size == 16) * (rate == 5e-5))
              for size in (16, 32) for rate in (5e-5, 2e-5) for epochs in (2.0, 3.5, 4.0)]
    plots.search_results(str(tmp_path / "search.png"), trials, "eval_f1")
    pixels = decoded(tmp_path / "search.png")
    darkest = is_like(pixels, mpl.colormaps["Blues"](1.0)[:3])
    columns = np.flatnonzero(darkest[:, : int(0.85 * pixels.shape[1])].mean(axis=0) > 0.3)
    assert 0 < columns.min() < columns.max() < 0.3 * pixels.shape[1]  # batch size 16, left rate
    alone = [(8, 1e-3, 1.0, 0.25)]
    plots.search_results(str(tmp_path / "search.png"), alone, "eval_f1")
    assert os.listdir(tmp_path) == ["search.png"]


def test_a_run_without_steps_has_no_loss_curves(tmp_path):
    plots.loss_curves(str(tmp_path), Log(), Log())
    assert not os.listdir(tmp_path)


def test_loss_curves_fall_with_the_loss(tmp_path):
    plots.loss_curves(str(tmp_path), Log(loss=((1, 2, 3), (2.0, 1.5, 0.25))), Log())
    pixels = decoded(tmp_path / "loss.png")
    assert pixels.shape == (600, 960, 3)
    rows, columns = np.nonzero(is_like(pixels, TRAINING_LINE))
    first, last = rows[columns == columns.min()].mean(), rows[columns == columns.max()].mean()
    assert columns.max() - columns.min() > 700
    assert last - first > 200  # row 0 is the picture's top


def test_metrics_have_a_panel_of_their_own(tmp_path):
    training = Log(loss=((1, 2), (2.0, 1.0)))
    plots.loss_curves(str(tmp_path), training, Log(loss=((2,), (1.5,)), accuracy=((2,), (0.25,))))
    pixels = decoded(tmp_path / "loss.png")
    assert pixels.shape == (960, 960, 3)
    for panel in (pixels[:480], pixels[480:]):
        assert 0.005 < (panel.min(axis=-1) < 0.5).mean() < 0.5  # neither blank nor filled
    assert os.listdir(tmp_path) == ["loss.png"]
