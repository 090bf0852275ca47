"""The largest batch that fits, by few tries: each is a compilation of minutes."""

import bisect

RESERVED = 0.25 * 2**30  # bytes of its memory that a chip keeps for itself; the compiler says 15.75 of 16 GiB
STEPS = 4  # batch sizes to choose from between two powers of two


def capacity(chip):
    """Bytes of a Chip's memory that a program can have."""
    return chip.memory - RESERVED


def batch_sizes(most):
    """Batch sizes that are worth a try, ascending, up to `most`: all up to 2 STEPS, then STEPS to each doubling."""
    sizes = list(range(1, 2 * STEPS))
    while sizes[-1] < most:
        sizes += [2 * size for size in sizes[-STEPS:]]
    return [size for size in sizes if size <= most]


def find(try_batch, first, available, most=8192, tries=None):
    """The largest of `batch_sizes` that fits, or None if none does; of those that were tried, after `tries`.

    Memory grows with the batch by nearly the same amount for each example, so each try is where a line through the two
    nearest ones says that memory ends; the answer is sure only once the next larger size was tried too.

    Args:
      try_batch: function from a batch size to (bytes that it needs, whether it fits).
      first: the first size to try.
      available: bytes that there are; a guess is enough.
      most: the largest batch to try.
      tries: how many sizes to try at most; None for as many as it takes.
    """
    sizes = batch_sizes(most)
    needed, fitting, too_large = {}, -1, len(sizes)  # positions in sizes
    position = max(0, bisect.bisect_right(sizes, first) - 1)
    while too_large - fitting > 1 and len(needed) != tries:
        memory, fits = try_batch(sizes[position])
        needed[sizes[position]] = memory
        if fits:
            fitting = position
        else:
            too_large = position
        guess = bisect.bisect_right(sizes, predict(needed, available)) - 1
        position = min(max(guess, fitting + 1), too_large - 1)
    return sizes[fitting] if fitting >= 0 else None


def predict(needed, available):
    """The batch, a float, at which memory ends.

    Args:
      needed: dict from batch size to bytes. Of one size alone, half of its memory is taken to be fixed.
      available: bytes that there are.
    """
    nearest = sorted(needed, key=lambda batch: abs(needed[batch] - available))[:2]
    small, large = min(nearest), max(nearest)
    if small == large:
        each, fixed = needed[small] / 2 / small, needed[small] / 2
    else:
        each = (needed[large] - needed[small]) / (large - small)
        fixed = needed[small] - each * small
    return (available - fixed) / each if each > 0 else 2.0 * large
