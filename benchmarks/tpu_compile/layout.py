"""The printed tables: the largest batches, all steps, and a comparison with the peer; aligned text or Markdown."""

from benchmarks.tpu_compile import largest_batch
from benchmarks.tpu_compile.settings import CLASSIFIER, PEER, PRETRAINING, SERVED

NAMES = {PRETRAINING: "pre-training", CLASSIFIER: "fine-tuning, classifier", SERVED: "served classifier",
         PEER: "pre-training, tf-models-official"}
FIGURES = ("memory, GiB", "matmul FLOPs", "step, ms", "examples/s", "of peak")


def print_table(rows, chip, style):
    """Prints the tables.

    Args:
      rows: List of (Plan, dict of batch size to Measurement).
      chip: Chip.
      style: str. "text" or "markdown".
    """
    rows = [(plan, kept) for plan, kept in rows if kept]
    for title, header, lines in (
        ("Largest batch that fits", ("step", "largest batch", *FIGURES), largest_lines(rows, chip)),
        ("Compiled steps", ("step", "batch", *FIGURES), all_lines(rows, chip)),
        ("Comparison with tf-models-official", ("step", "batch", "project", *FIGURES), peer_lines(rows, chip)),
    ):
        if lines:
            print(f"\n{title}\n")
            print("\n".join(aligned([header, *lines]) if style == "text" else markdown([header, *lines])))


def largest_lines(rows, chip):
    """Returns a line for each plan with a search: its largest batch and the figures for that."""
    lines = []
    for plan, kept in rows:
        fitting = [batch for batch, measurement in kept.items() if measurement.fits]
        if plan.search and fitting:
            lines.append((describe(plan), largest(kept, chip), *figures(kept[max(fitting)], max(fitting), chip)))
    return lines


def largest(kept, chip):
    """Describes the largest batch: a number, preceded by "at least" if the next larger size was not tried.

    With several batches, adds the predicted limit of memory from a line through the two nearest results.
    """
    best = max(batch for batch, measurement in kept.items() if measurement.fits)
    too_large = [batch for batch, measurement in kept.items() if not measurement.fits]
    sizes = largest_batch.batch_sizes(2 * best)
    following = next((size for size in sizes if size > best), None)
    if following in too_large:
        return f"{best}"
    if len(kept) == 1:
        return f"at least {best}"
    line = largest_batch.predict({batch: measurement.needed_memory for batch, measurement in kept.items()},
                                 largest_batch.capacity(chip))
    below = [size for size in largest_batch.batch_sizes(line) if size < min(too_large, default=line + 1)]
    return f"at least {best}; extrapolated: {max([best, *below])}"


def all_lines(rows, chip):
    """Returns a line for each measurement."""
    lines = []
    for plan, kept in rows:
        for batch, measurement in kept.items():
            times = f"{plan.micro_batches} x " if plan.micro_batches > 1 else ""
            lines.append((describe(plan), f"{times}{batch}", *figures(measurement, batch * plan.micro_batches, chip)))
    return lines


def peer_lines(rows, chip):
    """Returns two lines for each batch compiled for both the peer and this project, even if one does not fit."""
    lines = []
    for plan, kept in rows:
        if plan.workload != PEER:
            continue
        ours = next((other for other_plan, other in rows if is_counterpart(other_plan, plan)), {})
        for batch in sorted({*kept} & {*ours}):
            name = describe(plan).removesuffix(", tf-models-official")
            for whose, measurement in (("this project", ours[batch]), ("tf-models-official", kept[batch])):
                lines.append((name, str(batch), whose, *figures(measurement, batch, chip)))
    return lines


def is_counterpart(plan, peer):
    """Returns whether a plan is this project's pre-training with the same settings as the peer's plan."""
    return (plan.workload == PRETRAINING and plan.micro_batches == 1 and not plan.recompute
            and (plan.model, plan.length, plan.optimizer) == (peer.model, peer.length, peer.optimizer))


def describe(plan):
    """Describes a plan for the table."""
    parts = [f"{plan.model.capitalize()}, {plan.length}: {NAMES[plan.workload]}"]
    if plan.optimizer == "lamb":
        parts.append("LAMB")
    if plan.recompute:
        parts.append("recompute")
    if plan.micro_batches > 1:
        parts.append(f"{plan.micro_batches} micro-batches")
    return ", ".join(parts)


def figures(measurement, batch_size, chip):
    """Returns FIGURES of a Measurement of a step with this many examples, a list of str."""
    memory = f"{measurement.needed_memory / 2**30:.2f}"
    estimate = measurement.estimate
    if estimate is None:
        return [f"{memory}: too large", "", "", "", ""]
    seconds = estimate.seconds(chip)
    return [memory, f"{estimate.needed_flops / estimate.flops:.0%}", f"{seconds * 1e3:.1f}",
            f"{batch_size / seconds:,.0f}", f"{estimate.needed_flops / seconds / chip.peak:.0%}"]


def aligned(lines):
    """Formats lines of cells as text in columns; left-aligns the first column."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return ["  ".join(cell.ljust(width) if column == 0 else cell.rjust(width)
                      for column, (cell, width) in enumerate(zip(line, widths, strict=True))).rstrip()
            for line in lines]


def markdown(lines):
    """Formats lines of cells as a Markdown table; the first line is the header."""
    header, *rest = lines
    rule = ["---", *["---:"] * (len(header) - 1)]
    return [f"| {' | '.join(line)} |" for line in (header, rule, *rest)]
