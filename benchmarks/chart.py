"""Draws this project beside its peers: a bar for each comparison that the benchmarks have kept.

    python -m benchmarks.chart

A bar says how many times as fast as the peer this project is; left of 1 it is slower. `make bench` draws the chart
after the benchmarks.
"""

import dataclasses

from matplotlib.figure import Figure  # not pyplot: it would look for a screen
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from benchmarks import measurements
from bert_tf.cli import flags, script
from bert_tf.cli.settings import setting
from bert_tf.errors import InputError
from bert_tf.files import new_file

TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
FASTER, SLOWER = "#1f6feb", "#bc4c00"
TEXT, SMALL_PRINT = "#1f2328", "#59636e"  # on white, which the picture has in dark themes too
INCHES_WIDE, INCHES_A_BAR, INCHES_AROUND = 8, 0.4, 1.6
DOTS_PER_INCH = 200  # 1,600 pixels wide, shown at half of that


@dataclasses.dataclass(frozen=True)
class ChartSettings(measurements.KeptResults):
    """Where the measurements are and where the chart goes."""

    chart_file: str = setting("docs/peers.png", "The picture to write, a PNG file.")


def define_flags():
    """Defines the script's flags."""
    flags.define(ChartSettings())


def main(argv):
    """Draws with the flags' settings."""
    del argv
    draw(flags.read(ChartSettings()))


def draw(settings):
    """Draws the comparisons of a folder into a PNG file; settings: ChartSettings.

    Raises:
      InputError: there are no comparisons, or some were made with other versions of the packages than others.
    """
    results = measurements.read_results(settings.results_dir)
    comparisons = sorted((row for result in results for row in result["comparisons"]), key=lambda row: row["ratio"])
    figure = make_figure(comparisons, small_print(results, settings.results_dir))
    with new_file(settings.chart_file, "wb") as file:
        figure.savefig(file, format="png", dpi=DOTS_PER_INCH)
    print(f"{settings.chart_file}: {len(comparisons)} comparisons of {len(results)} benchmarks")


def small_print(results, results_dir):
    """What the measurements were made with, in a line."""
    made_with = {(*result["versions"].items(), ("CPU cores", result["cores"])) for result in results}
    if len(made_with) > 1:
        raise InputError(f"`results_dir`={results_dir}: its measurements are of several versions or numbers of cores: "
                         "run all benchmarks again")
    *versions, (_, cores) = made_with.pop()
    return f"{', '.join(f'{package} {version}' for package, version in versions)}; {cores} CPU cores; make bench"


def make_figure(comparisons, note):
    """The chart as a Figure.

    Args:
      comparisons: list of dicts as measurements.keep writes them, the lowest bar first.
      note: str, the small print.
    """
    height = INCHES_AROUND + INCHES_A_BAR * len(comparisons)
    figure = Figure(figsize=(INCHES_WIDE, height), layout="constrained", facecolor="white")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
    axes = figure.subplots()
    ratios = [row["ratio"] for row in comparisons]
    # Bars begin at 1, where ours is as fast as the peer; on the logarithmic scale 2 and 1/2 times are as far from it.
    axes.barh(range(len(ratios)), [ratio - 1 for ratio in ratios], left=1, height=0.62,
              color=[FASTER if ratio >= 1 else SLOWER for ratio in ratios])
    axes.set_xscale("log")
    axes.set_xlim(min(0.8, 0.8 * min(ratios)), 1.5 * max(1.5, *ratios))
    axes.xaxis.set_major_locator(FixedLocator(TICKS))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda ratio, _: f"{ratio:g}"))
    axes.axvline(1, color=TEXT, linewidth=1)
    axes.set_yticks(range(len(ratios)), [row["name"] for row in comparisons], fontsize=10, color=TEXT)
    for number, row in enumerate(comparisons):
        axes.annotate(f" {row['ratio']:.3g} × {row['peer']}", (max(1, row["ratio"]), number), fontsize=8,
                      color=TEXT, verticalalignment="center")
    axes.set_xlabel("times as fast as the peer, logarithmic; 1 is as fast", fontsize=9, color=SMALL_PRINT)
    axes.tick_params(axis="x", colors=SMALL_PRINT, labelsize=9)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#d1d9e0", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.suptitle("This project beside its peers: how many times as fast", fontsize=13, color=TEXT, fontweight="bold")
    figure.supxlabel(note, fontsize=8, color=SMALL_PRINT)
    return figure


if __name__ == "__main__":
    script.run(main, define_flags)
