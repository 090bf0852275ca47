"""The comparison as a table, as results.json and as curves."""

import json
import statistics

from matplotlib.figure import Figure  # not pyplot: it would look for a screen

from benchmarks.objectives import runs
from bert_tf.files import new_file

COLUMNS = "{:<30}{:>7}{:>10}{:>24}{:>24}{:>20}{:>10}"
CURVES = "curves.png"


def write(settings, results):
    """Prints the table and writes results.json and curves.png into the output folder.

    Args:
      settings: ObjectivesSettings.
      results: dict of arm's name -> dict of steps; real_share and tokens_a_second; curves, for each seed a dict of
        step -> losses of each held-out form; scores, for each seed an accuracy or None.
    """
    print(COLUMNS.format("", "steps", "real ids", *(f"held out, {each}" for each in runs.HELD_OUT_OBJECTIVES),
                         "SST-2", "tokens/s"))
    for name, result in results.items():
        last = [curve[max(curve)] for curve in result["curves"]]
        print(COLUMNS.format(
            name, f"{result['steps']:,}", f"{result['real_share']:.1%}",
            *(_mean_and_spread(losses, "{:.3f}") for losses in zip(*last, strict=True)),
            _mean_and_spread(result["scores"], "{:.4f}") if None not in result["scores"] else "",
            f"{result['tokens_a_second']:,.0f}"))
    print("means of the seeds (and by how much their largest and smallest differ); nats a masked position; accuracy")
    with new_file(settings.path("results.json")) as file:
        json.dump(results, file, indent=1)
        file.write("\n")
    _draw(settings, results)


def _mean_and_spread(values, form):
    """Such as "5.123 (0.010)"."""
    return f"{form.format(statistics.fmean(values))} ({form.format(max(values) - min(values))})"


def _draw(settings, results):
    """Held-out loss by FLOPs, the mean of the seeds, a panel for each form of the held-out text."""
    figure = Figure(figsize=(11, 5), layout="constrained")
    for number, (axes, form) in enumerate(zip(figure.subplots(1, 2, sharey=True), runs.HELD_OUT_OBJECTIVES,
                                              strict=True)):
        for name, result in results.items():
            points = {step / result["steps"] * settings.flops: statistics.fmean(
                curve[step][number] for curve in result["curves"]) for step in result["curves"][0]}
            axes.plot(*zip(*points.items(), strict=True), ".-", label=name)
        axes.set(xlabel="FLOPs of training", title=f"held-out text as {form}")
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("masked LM loss (nats)")
    figure.axes[0].legend()
    with new_file(settings.path(CURVES), "wb") as file:
        figure.savefig(file, format="png", dpi=120)
