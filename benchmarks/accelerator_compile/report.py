"""The printed report for one compiled step."""

UTILIZATION = 0.5  # Assumed fraction of the peak in the arithmetic.


def print_estimate(estimate, chip, top):
    """Prints memory, FLOPs, and time of an Estimate on a Chip, and the `top` most expensive operations."""
    print_memory(estimate, chip)
    print_flops(estimate, chip)
    print_time(estimate, chip, top)


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


def print_flops(estimate, chip):
    """Prints the FLOPs of the compiled program, our count for the model's matmuls, and their time at the peak rate."""
    compiled, analytic = estimate.flops, estimate.needed_flops
    print(f"  {'FLOPs, by the compiler' if chip.is_tpu else 'FLOPs of the compiled matrix products':<40}"
          f"{compiled / 1e9:>8.1f} G")
    print(f"  {'FLOPs of the matrix products, counted':<40}{analytic / 1e9:>8.1f} G, {analytic / compiled:.0%} of it")
    print(f"  {'arithmetic: their time at the peak rate':<40}{analytic / chip.peak * 1e3:>8.1f} ms; at "
          f"{UTILIZATION:.0%} of {chip.peak / 1e12:.0f} TFLOP/s {analytic / chip.peak / UTILIZATION * 1e3:.1f} ms")


def print_time(estimate, chip, top):
    """Prints the estimate of time, and the operations that take it."""
    milliseconds = estimate.seconds * 1e3
    if chip.is_tpu:
        print(f"  {'estimate of the compiler, not measured':<40}{milliseconds:>8.1f} ms: "
              f"{estimate.seconds * chip.clock / 1e6:.1f} M cycles at {chip.clock / 1e9:.2f} GHz; by operation:")
    else:
        print(f"  {'kernels':<40}{estimate.kernels:>8}, which write {estimate.written / 1e9:.2f} GB")
        print(f"  {'roofline, not measured':<40}{milliseconds:>8.1f} ms at {chip.bandwidth / 1e9:,.0f} GB/s; by "
              "operation:")
    for name, seconds in list(estimate.operations.items())[:top]:
        print(f"    {seconds / estimate.seconds:>6.1%}  {name}")
