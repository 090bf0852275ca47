"""Plots: the numbers that figures show, and their files."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from run.training import logs, plots
from tests.errors import check_message


@pytest.fixture
def figures(monkeypatch):
    """List of the figures that are saved."""
    saved = []
    save = Figure.savefig

    def savefig(figure, file, **options):
        saved.append(figure)
        save(figure, file, **options)

    monkeypatch.setattr(Figure, "savefig", savefig)
    return saved


@pytest.mark.filterwarnings("error")
def test_characters_that_the_font_lacks_are_one_note(tmp_path, capsys):
    path = str(tmp_path / "a.png")
    plots.confusion_matrix(path, [0, 1, 1], [0, 1, 0], ["\u65e5\u672c", "\u597d"])
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    check_message(err, "note", path, "the font lacks 3 characters")


def test_confusion_matrix(figures, tmp_path):
    """Rows are labels, and columns are predictions. Colors are fractions of a row."""
    plots.confusion_matrix(
        str(tmp_path / "a.png"),
        np.array([0, 0, 0, 0, 1, 2]),
        np.array([0, 0, 0, 1, 1, 1]),
        ("a", "b", "c", "unused"),
    )
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    ((axes, _),) = [figure.axes for figure in figures]
    values = np.asarray(axes.images[0].get_array())
    np.testing.assert_array_equal(
        values, [[0.75, 0.25, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    )
    assert [text.get_text() for text in axes.texts] == [*"3100", *"0100", *"0100", *"0000"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a", "b", "c", "unused"]
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_title()) == (
        "predicted",
        "label",
        "6 examples",
    )


def test_many_labels_have_no_numbers(figures, tmp_path):
    plots.confusion_matrix(
        str(tmp_path / "a.png"), np.arange(21), np.arange(21), [str(number) for number in range(21)]
    )
    assert not figures[0].axes[0].texts


def test_loss_curves(figures, tmp_path):
    """Panels: losses, updates with an axis of rates, and metrics of evaluations."""
    training, evaluation = (
        logs.Log(str(tmp_path), name, 0, writes=False) for name in ("a.csv", "b.csv")
    )
    plots.loss_curves(str(tmp_path), training, evaluation)
    assert not list(tmp_path.iterdir())
    for step, loss in ((1, 2.0), (2, 1.0)):
        training.add(step, {"loss": loss, "norm": 9.0 * step, "learning_rate": 0.5 * step})
    evaluation.add(2, {"loss": 1.5, "accuracy": 0.25})
    plots.loss_curves(str(tmp_path), training, evaluation)
    lines = {
        f"{axes.get_title()} {axes.get_ylabel()}".strip(): {
            line.get_label(): line.get_xydata().tolist() for line in axes.lines
        }
        for axes in figures[0].axes
    }
    assert lines == {
        "Losses loss (nats)": {"loss": [[1, 2], [2, 1]], "evaluation: loss": [[2, 1.5]]},
        "Updates": {"norm": [[1, 9], [2, 18]]},
        "rate": {"learning rate": [[1, 0.5], [2, 1]]},
        "Other metrics": {"evaluation: accuracy": [[2, 0.25]]},
    }
    legends = [
        [text.get_text() for text in axes.get_legend().get_texts()]
        for axes in figures[0].axes
        if axes.get_legend()
    ]
    assert legends[1] == ["norm", "learning rate"]
    assert [path.name for path in tmp_path.iterdir()] == ["loss.png"]


@pytest.mark.parametrize(("peak", "scale"), [(19, "linear"), (900, "log")])
def test_a_peak_of_the_norm_does_not_hide_the_other_norms(figures, tmp_path, peak, scale):
    training, evaluation = (
        logs.Log(str(tmp_path), name, 0, writes=False) for name in ("a.csv", "b.csv")
    )
    for step, norm in enumerate((1, 1, peak, 1), start=1):
        training.add(step, {"loss": peak, "gradient_norm": norm, "learning_rate": 0.5})
    plots.loss_curves(str(tmp_path), training, evaluation)
    scales = [axes.get_yscale() for axes in figures[0].axes]
    assert scales == ["linear", scale, "linear"]  # The last one is the axis of rates.


def test_a_run_without_evaluations_has_no_panel_of_other_metrics(figures, tmp_path):
    training, evaluation = (
        logs.Log(str(tmp_path), name, 0, writes=False) for name in ("a.csv", "b.csv")
    )
    training.add(1, {"loss": 2.0})
    plots.loss_curves(str(tmp_path), training, evaluation)
    assert [axes.get_title() for axes in figures[0].axes] == ["Losses"]
    assert figures[0].axes[0].lines[0].get_marker() == "."
