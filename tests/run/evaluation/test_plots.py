"""Plots: the numbers that figures show, and their files."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from run.evaluation import plots
from run.training import logs


@pytest.fixture
def figures(monkeypatch):
    """List of the figures that are saved."""
    saved, save = [], Figure.savefig

    def savefig(figure, file, **options):
        saved.append(figure)
        save(figure, file, **options)

    monkeypatch.setattr(Figure, "savefig", savefig)
    return saved


def get_cells(axes):
    """Returns the numbers and the texts of a matrix."""
    values = np.asarray(axes.images[0].get_array())
    return values, np.array([text.get_text() for text in axes.texts]).reshape(values.shape)


def test_confusion_matrix(figures, tmp_path):
    """Rows are labels, and columns are predictions. Colors are fractions of a row."""
    plots.confusion_matrix(str(tmp_path / "a.png"), np.array([0, 0, 0, 0, 1, 2]), np.array([0, 0, 0, 1, 1, 1]),
                           ("a", "b", "c", "unused"))
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    (axes, _), = [figure.axes for figure in figures]
    values, texts = get_cells(axes)
    np.testing.assert_array_equal(values, [[0.75, 0.25, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]])
    assert texts.tolist() == [list("3100"), list("0100"), list("0100"), list("0000")]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a", "b", "c", "unused"]
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_title()) == ("predicted", "label", "6 examples")


def test_many_labels_have_no_numbers(figures, tmp_path):
    plots.confusion_matrix(str(tmp_path / "a.png"), np.arange(21), np.arange(21), [str(number) for number in range(21)])
    assert not figures[0].axes[0].texts


def test_search_results(figures, tmp_path):
    """A panel per batch size, with a column per learning rate and a row per number of epochs."""
    trials = [(size, rate, epochs, None if (size, rate) == (32, 2e-5) else 0.5 + 0.1 * (size == 16) * (rate == 5e-5))
              for size in (16, 32) for rate in (5e-5, 2e-5) for epochs in (2.0, 3.5)]
    plots.search_results(str(tmp_path / "search.png"), trials, "eval_f1")
    first, second, colors = figures[0].axes
    values, texts = get_cells(first)
    np.testing.assert_allclose(values, [[0.6, 0.5]] * 2)
    assert texts.tolist() == [["0.600", "0.500"]] * 2
    assert [text.get_weight() for text in first.texts] == ["bold", "normal"] * 2
    assert get_cells(second)[1].tolist() == [["0.500", "-"]] * 2
    assert (first.get_title(), second.get_title(), colors.get_ylabel()) == ("batch size 16", "batch size 32", "eval f1")
    assert [label.get_text() for label in first.get_yticklabels()] == ["2", "3.5"]
    plots.search_results(str(tmp_path / "search.png"), [(8, 1e-3, 1.0, 0.25)], "eval_f1")
    assert [path.name for path in tmp_path.iterdir()] == ["search.png"]


def test_loss_curves(figures, tmp_path):
    """Metrics that are not losses have a second panel."""
    training, evaluation = (logs.Log(str(tmp_path), name, 0, writes=False) for name in ("a.csv", "b.csv"))
    plots.loss_curves(str(tmp_path), training, evaluation)
    assert not list(tmp_path.iterdir())
    for step, loss in ((1, 2.0), (2, 1.0)):
        training.add(step, {"loss": loss, "norm": 9.0 * step})
    evaluation.add(2, {"loss": 1.5, "accuracy": 0.25})
    plots.loss_curves(str(tmp_path), training, evaluation)
    lines = [{line.get_label(): line.get_xydata().tolist() for line in axes.lines} for axes in figures[0].axes]
    assert lines == [{"loss": [[1, 2], [2, 1]], "evaluation: loss": [[2, 1.5]]}, {
        "norm": [[1, 9], [2, 18]], "evaluation: accuracy": [[2, 0.25]]}]
    assert [path.name for path in tmp_path.iterdir()] == ["loss.png"]
