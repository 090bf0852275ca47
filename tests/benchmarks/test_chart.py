"""The chart shows every comparison that was kept, and nothing else."""

import json

import pytest

from benchmarks import chart, measurements
from bert_tf.errors import InputError

FASTER = measurements.Comparison("Tokens", "plain Python", 24.0, 8.0, "MB/s", higher_is_better=True)
SLOWER = measurements.Comparison("Forward pass", "a peer", 5.0, 4.0, "s", higher_is_better=False)


@pytest.fixture
def settings(tmp_path):
    return chart.ChartSettings(results_dir=str(tmp_path / "results"), chart_file=str(tmp_path / "peers.png"))


def test_a_bar_for_each_comparison(settings, capsys):
    measurements.keep("tokens", settings, [FASTER])
    measurements.keep("forward", settings, [SLOWER])
    chart.draw(settings)
    with open(settings.chart_file, "rb") as file:
        assert file.read(8) == b"\x89PNG\r\n\x1a\n"
    assert capsys.readouterr().out == f"{settings.chart_file}: 2 comparisons of 2 benchmarks\n"


def test_bars_and_labels(settings):
    measurements.keep("both", settings, [SLOWER, FASTER])
    rows = measurements.read_results(settings.results_dir)[0]["comparisons"]
    axes, = chart.make_figure(rows, "versions").axes
    assert [bar.get_x() + bar.get_width() for bar in axes.patches] == pytest.approx([4 / 5, 24 / 8])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["Forward pass", "Tokens"]
    assert [text.get_text() for text in axes.texts] == [" 0.8 × a peer", " 3 × plain Python"]


def test_nothing_is_drawn_without_measurements(settings, tmp_path):
    with pytest.raises(InputError, match=r"`results_dir`=.*: there are no measurements"):
        chart.draw(settings)
    measurements.keep("none", settings, [])
    with pytest.raises(InputError, match=r"`results_dir`=.*: there are no measurements"):
        chart.draw(settings)
    assert not (tmp_path / "peers.png").exists()


def test_measurements_of_several_versions(settings, tmp_path):
    for name in ("new", "old"):
        measurements.keep(name, settings, [FASTER])
    path = tmp_path / "results" / "old.json"
    result = json.loads(path.read_text())
    result["versions"]["tensorflow"] = "2.19.0"
    path.write_text(json.dumps(result))
    with pytest.raises(InputError, match="several versions"):
        chart.draw(settings)


def test_turns_are_taken():
    order = []
    turns = {name: lambda name=name: order.append(name) for name in "ab"}
    times = measurements.time_turns(turns, 2, warm_up=1)
    assert order == ["a", "b"] * 3
    assert {name: len(seconds) for name, seconds in times.items()} == {"a": 2, "b": 2}


@pytest.mark.parametrize("values", [("3", "0"), ("x",), ("-1",), ("",)])
def test_whole_numbers(values):
    assert measurements.whole_numbers("batch_sizes", ("3", "12")) == [3, 12]
    with pytest.raises(InputError, match=f"`batch_sizes`={values[-1]}: it must be whole numbers of at least 1"):
        measurements.whole_numbers("batch_sizes", values)
