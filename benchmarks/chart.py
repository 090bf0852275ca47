"""Bar chart of this project compared with its peers, with one bar per comparison.

A bar shows the speed of this project relative to the peer. Left of 1, this project is slower.
"""

from matplotlib.figure import Figure  # Not pyplot, which would look for a screen.
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
FASTER, SLOWER = "#1f6feb", "#bc4c00"
TEXT, SMALL_PRINT = "#1f2328", "#59636e"  # On white, the background of the chart in dark themes too.
INCHES_WIDE, INCHES_A_BAR, INCHES_AROUND = 8, 0.22, 1.6
DOTS_PER_INCH = 200  # 1,600 pixels wide, displayed at half of that.


def make_figure(comparisons, note):
    """Creates the chart as a Figure.

    Args:
      comparisons: List of dicts from measurements.keep, in order from the lowest bar.
      note: str. Text below the chart.
    """
    height = INCHES_AROUND + INCHES_A_BAR * len(comparisons)
    figure = Figure(figsize=(INCHES_WIDE, height), layout="constrained", facecolor="white")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
    axes = figure.subplots()
    ratios = [row["ratio"] for row in comparisons]
    # Bars begin at 1, equal speed. On the logarithmic scale, ratios of 2 and 1/2 are equally far from it.
    axes.barh(range(len(ratios)), [ratio - 1 for ratio in ratios], left=1, height=0.68,
              color=[FASTER if ratio >= 1 else SLOWER for ratio in ratios])
    axes.set_ylim(-0.7, len(ratios) - 0.3)
    axes.set_xscale("log")
    axes.set_xlim(min(0.8, 0.8 * min(ratios)), 1.5 * max(1.5, *ratios))
    axes.xaxis.set_major_locator(FixedLocator(TICKS))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda ratio, _: f"{ratio:g}"))
    axes.axvline(1, color=TEXT, linewidth=1)
    axes.set_yticks(range(len(ratios)), [row["name"] for row in comparisons], fontsize=8, color=TEXT)
    for number, row in enumerate(comparisons):
        axes.annotate(f" {row['ratio']:.3g} × {row['peer']}", (max(1, row["ratio"]), number), fontsize=8,
                      color=TEXT, verticalalignment="center")
    axes.set_xlabel("times as fast as the peer, logarithmic; 1 is as fast", fontsize=9, color=SMALL_PRINT)
    axes.tick_params(axis="x", colors=SMALL_PRINT, labelsize=9)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#d1d9e0", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.suptitle("Speed relative to the fastest other implementation", fontsize=13, color=TEXT, fontweight="bold")
    figure.supxlabel(note, fontsize=7, color=SMALL_PRINT)
    return figure

