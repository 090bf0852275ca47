"""Search for the largest batch that fits, with few tries, because each is a compilation of minutes."""

import bisect

STEPS = 4  # Batch sizes between two powers of two.


def batch_sizes(most):
    """Returns the batch sizes to try, ascending, up to `most`: all up to 2 STEPS, then STEPS per doubling."""
    sizes = list(range(1, 2 * STEPS))
    while sizes[-1] < most:
        sizes += [2 * size for size in sizes[-STEPS:]]
    return [size for size in sizes if size <= most]


def find(try_batch, first, available, most=8192, tries=None):
    """Returns the largest of `batch_sizes` that fits, or None; after `tries`, the largest one tried that fits.

    Memory grows almost linearly with the batch, so each try is at the predicted limit: where a line through two results
    reaches the available memory. These are the largest size that fits and the smallest one that does not, or the two
    nearest results. The result is certain only if the next larger size was tried too.

    Args:
      try_batch: Callable of a batch size that returns (bytes required, whether it fits).
      first: int. First size to try.
      available: float. Available bytes. An approximation is sufficient.
      most: int. Largest batch to try.
      tries: int. Maximum number of sizes to try. If None, tries as many as required.
    """
    sizes = batch_sizes(most)
    needed, fitting, too_large = {}, -1, len(sizes)  # Indices into sizes.
    position = max(0, bisect.bisect_right(sizes, first) - 1)
    while too_large - fitting > 1 and len(needed) != tries:
        memory, fits = try_batch(sizes[position])
        needed[sizes[position]] = memory
        if fits:
            fitting = position
        else:
            too_large = position
        is_between = fitting >= 0 and too_large < len(sizes)
        known = {sizes[each]: needed[sizes[each]] for each in (fitting, too_large)} if is_between else needed
        guess = bisect.bisect_right(sizes, predict(known, available)) - 1
        position = min(max(guess, fitting + 1), too_large - 1)
    return sizes[fitting] if fitting >= 0 else None


def predict(needed, available):
    """Predicts the batch, a float, that uses all available memory.

    Args:
      needed: Dict of batch size to bytes. With a single size, assumes that half of its memory is fixed.
      available: float. Available bytes.
    """
    nearest = sorted(needed, key=lambda batch: abs(needed[batch] - available))[:2]
    small, large = min(nearest), max(nearest)
    if small == large:
        each, fixed = needed[small] / 2 / small, needed[small] / 2
    else:
        each = (needed[large] - needed[small]) / (large - small)
        fixed = needed[small] - each * small
    return (available - fixed) / each if each > 0 else 2.0 * large
