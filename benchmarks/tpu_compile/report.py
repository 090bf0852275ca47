"""The printed report for one compiled step."""

UTILIZATION = 0.5  # Assumed fraction of the peak in the arithmetic.


def print_estimate(estimate, chip, top):
    """Prints memory, FLOPs, and time of an Estimate on a Chip, and the `top` most expensive operations."""
    print_memory(estimate, chip)
    print_flops(estimate.flops, estimate.needed_flops, chip)
    print_cycles(estimate, chip, top)


def print_memory(estimate, chip):
    """Prints the step's memory use on a chip; the new value of a variable replaces the old one."""
    for name, size in {
        "arguments: weights, moments, batch": estimate.arguments,
        "outputs that are not updated in place": estimate.outputs,
        "temporaries: activations, gradients": estimate.temporaries,
        "program": estimate.program,
    }.items():
        print(f"  {name:<40}{size / 2**20:>8.1f} MiB")
    peak = estimate.peak_memory
    print(f"  {'peak':<40}{peak / 2**20:>8.1f} MiB, {peak / chip.memory:.0%} of the chip's "
          f"{chip.memory / 2**30:.0f} GiB")


def print_flops(compiled, analytic, chip):
    """Prints the compiler's FLOPs of all operations, our count for matmuls, and their time at the peak rate."""
    print(f"  {'FLOPs, by the compiler':<40}{compiled / 1e9:>8.1f} G")
    print(f"  {'FLOPs of the matrix products, counted':<40}{analytic / 1e9:>8.1f} G, {analytic / compiled:.0%} of it")
    print(f"  {'arithmetic: their time at the peak rate':<40}{analytic / chip.peak * 1e3:>8.1f} ms; at "
          f"{UTILIZATION:.0%} of {chip.peak / 1e12:.0f} TFLOP/s {analytic / chip.peak / UTILIZATION * 1e3:.1f} ms")


def print_cycles(estimate, chip, top):
    """Prints the compiler's estimate of time, and the operations that take it."""
    total = sum(estimate.cycles.values())
    print(f"  {'estimate of the compiler, not measured':<40}{estimate.seconds(chip) * 1e3:>8.1f} ms: "
          f"{total / 1e6:.1f} M cycles at {chip.clock / 1e9:.2f} GHz; by operation:")
    for name, count in list(estimate.cycles.items())[:top]:
        print(f"    {count / total:>6.1%}  {name}")
