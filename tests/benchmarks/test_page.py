"""The page and its plot show every stored comparison."""

import re

import pytest

from benchmarks import measurements, page

TOKENS = ("Tokens", 24.0, {"plain Python": 8.0}, "MB/s")
FORWARD = ("Forward pass", 5.0, {"a peer": 4.0}, "s")
TRAINING = ("Fine-tuning", 2.0, {"a peer": 3.0}, "min", ("accuracy 0.9", "accuracy 0.8"))


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "page.md").write_text(f"# Speed\n\n{page.BEGIN}\nold\n{page.END}\n\nMore.\n")
    return page.PageSettings(
        results_dir=str(tmp_path / "results"),
        chart_file=str(tmp_path / "peers.png"),
        page_file=str(tmp_path / "page.md"),
    )


def store(settings, name, *comparisons, left_out=()):
    """Stores the results of a benchmark."""
    benchmark = measurements.BenchmarkSettings(results_dir=settings.results_dir)
    with measurements.Results(name, benchmark) as results:
        for comparison in comparisons:
            results.add(*comparison)
        for peer in left_out:
            results.leave_out(peer, "it cannot be imported")


def test_row_for_each_comparison(settings, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(measurements, "describe_machine", lambda: "A CPU, 2 cores")
    store(settings, "tokens", TOKENS)
    store(settings, "forward", FORWARD, TRAINING, left_out=["ONNX Runtime"])
    store(settings, "nothing", left_out=["PyTorch"])
    page.run(settings)
    with open(settings.chart_file, "rb") as file:
        assert file.read(8) == b"\x89PNG\r\n\x1a\n"
    text = (tmp_path / "page.md").read_text()
    assert text.startswith(f"# Speed\n\n{page.BEGIN}\n\n### A CPU, 2 cores\n\ntensorflow ")
    assert text.endswith(f"{page.END}\n\nMore.\n")
    assert "| Tokens | 24.0 MB/s | plain Python: 8.00 MB/s | 3.00 |" in text
    assert "| Forward pass | 5.00 s | a peer: 4.00 s | 0.800 |" in text
    assert (
        "| Fine-tuning | 2.00 min, accuracy 0.9 | a peer: 3.00 min, accuracy 0.8 | 1.50 |" in text
    )
    assert "\n\nNot measured: ONNX Runtime, PyTorch." in text
    assert text.count("| comparison |") == 1
    assert "old" not in text
    page.run(settings)
    assert (tmp_path / "page.md").read_text() == text
    assert capsys.readouterr().out.endswith("peers.png: 3 comparisons of 3 benchmarks\n")


def test_section_for_each_machine(settings, tmp_path, monkeypatch):
    for machine, tokens in (("A", 24.0), ("B", 80.0), ("A", 16.0)):
        monkeypatch.setattr(measurements, "describe_machine", lambda machine=machine: machine)
        store(settings, "tokens", ("Tokens", tokens, *TOKENS[2:]))
        page.run(settings)
    text = (tmp_path / "page.md").read_text()
    assert re.findall(r"### (.*)", text) == ["A", "B"]
    assert re.findall(r"\| Tokens .*\| (\S+) \|", text) == ["2.00", "10.0"]


def test_the_plot_shows_the_fastest_other_project_of_each_comparison():
    rows = [
        {"name": name, "peer": peer, "ratio": ratio}
        for name, peer, ratio in [
            (page.PLOTTED[0], "a peer", 3.0),
            (page.PLOTTED[0], "this project in float32", 1.0),
            (page.PLOTTED[0], "a fast peer", 2.0),
            (page.PLOTTED[1], "a peer", 1.5),
        ]
    ]
    assert page.choose_bars([{"comparisons": rows[:3]}, {"comparisons": rows[3:]}]) == [
        rows[3],
        rows[2],
    ]
    others = [{"name": "Tokens", "peer": "a peer", "ratio": 0.5 + number} for number in range(9)]
    assert page.choose_bars([{"comparisons": others}]) == others[1:]
