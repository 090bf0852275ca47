"""The printed tables: all steps and a comparison with the peer; aligned text or Markdown."""

from benchmarks.accelerator_compile import largest_batch
from benchmarks.accelerator_compile.settings import CLASSIFIER, FLOAT16, PEER, PRETRAINING, SERVED
from bert_tf.cli.tables import format_table

NAMES = {PRETRAINING: "pre-training", CLASSIFIER: "fine-tuning, classifier", SERVED: "served classifier",
         PEER: "pre-training, tf-models-official"}
FIGURES = ("memory, GiB", "matmul FLOPs", "step, ms", "examples/s", "of peak")
GPU_FIGURES = ("kernels", "GB written")


def print_table(rows, chip, style):
    """Prints the tables of a chip: the steps of this project, and the comparison with the peer.

    Args:
      rows: List of (Plan, dict of batch size to Measurement).
      chip: Chip.
      style: str. "text" or "markdown".
    """
    rows = [(plan, stored) for plan, stored in rows if stored]
    columns = FIGURES + (() if chip.is_tpu else GPU_FIGURES)
    for title, header, lines in (
        (f"Compiled steps, {chip.title}", ("step", "batch", *columns, "largest batch"), all_lines(rows, chip)),
        (f"Comparison with tf-models-official, {chip.title}", ("step", "batch", "project", *columns),
         peer_lines(rows, chip)),
    ):
        if lines:
            print(f"\n## {title}\n")
            print(format_table(header, lines) if style == "text" else "\n".join(markdown([header, *lines])))


def largest(stored, chip):
    """Describes the largest batch: a number, preceded by "at least" if the next larger size was not tried.

    With several batches, adds the predicted limit of memory from a line through the two nearest results.
    """
    best = max(batch for batch, measurement in stored.items() if measurement.fits)
    too_large = [batch for batch, measurement in stored.items() if not measurement.fits]
    sizes = largest_batch.batch_sizes(2 * best)
    following = next((size for size in sizes if size > best), None)
    if following in too_large:
        return f"{best}"
    if len(stored) == 1:
        return f"at least {best}"
    line = largest_batch.predict({batch: measurement.needed_memory for batch, measurement in stored.items()},
                                 chip.capacity)
    below = [size for size in largest_batch.batch_sizes(line) if size < min(too_large, default=line + 1)]
    return f"at least {best}; extrapolated: {max([best, *below])}"


def all_lines(rows, chip):
    """Returns a line for each measurement of this project; the last line of a search has the largest batch."""
    lines = []
    for plan, stored in rows:
        if plan.workload == PEER:
            continue
        times = f"{plan.micro_batches} x " if plan.micro_batches > 1 else ""
        added = [(describe(plan), f"{times}{batch}", *figures(measurement, batch * plan.micro_batches, chip), "")
                 for batch, measurement in stored.items()]
        if plan.search and any(measurement.fits for measurement in stored.values()):
            added[-1] = (*added[-1][:-1], largest(stored, chip))
        lines += added
    return lines


def peer_lines(rows, chip):
    """Returns two lines for each batch compiled for both the peer and this project, even if one does not fit."""
    lines = []
    for plan, stored in rows:
        if plan.workload != PEER:
            continue
        ours = next((other for other_plan, other in rows if is_counterpart(other_plan, plan)), {})
        for batch in sorted({*stored} & {*ours}):
            name = describe(plan).replace(", tf-models-official", "")
            for whose, measurement in (("this project", ours[batch]), ("tf-models-official", stored[batch])):
                lines.append((name, str(batch), whose, *figures(measurement, batch, chip)))
    return lines


def is_counterpart(plan, peer):
    """Returns whether a plan is this project's pre-training with the same settings as the peer's plan."""
    return (plan.workload == PRETRAINING and plan.micro_batches == 1 and not plan.recompute and not plan.packed
            and (plan.model, plan.length, plan.optimizer, plan.precision, plan.options)
            == (peer.model, peer.length, peer.optimizer, peer.precision, peer.options))


def describe(plan):
    """Describes a plan for the table."""
    parts = [f"{plan.model.capitalize()}, {plan.length}: {NAMES[plan.workload]}"]
    if plan.optimizer == "lamb":
        parts.append("LAMB")
    if plan.recompute:
        parts.append("recompute")
    if plan.packed:
        parts.append("packed rows")
    if plan.precision == FLOAT16:
        parts.append(FLOAT16)
    if plan.micro_batches > 1:
        parts.append(f"{plan.micro_batches} micro-batches")
    parts += plan.options
    return ", ".join(parts)


def figures(measurement, batch_size, chip):
    """Returns the figures of a Measurement of a step with this many examples, for FIGURES and a GPU's GPU_FIGURES."""
    memory = f"{measurement.needed_memory / 2**30:.2f}"
    estimate = measurement.estimate
    if estimate is None:
        return [f"{memory}: too large", *[""] * (len(FIGURES) - 1 + len(GPU_FIGURES) * (not chip.is_tpu))]
    seconds = estimate.seconds
    of_kernels = [] if chip.is_tpu else [f"{estimate.kernels:,}", f"{estimate.written / 1e9:.2f}"]
    return [memory, f"{estimate.needed_flops / estimate.flops:.0%}", f"{seconds * 1e3:.1f}",
            f"{batch_size / seconds:,.0f}", f"{estimate.needed_flops / seconds / chip.peak:.0%}", *of_kernels]


def markdown(lines):
    """Formats lines of cells as a Markdown table; the first line is the header."""
    header, *rest = lines
    rule = ["---", *["---:"] * (len(header) - 1)]
    return [f"| {' | '.join(line)} |" for line in (header, rule, *rest)]
