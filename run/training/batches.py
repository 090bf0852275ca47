"""Batches of examples in arrays, grouped by similar length.

The order is a function of the seed. Batch k does not depend on earlier batches having been created,
so a resumed run continues with the same batches.
"""

import numpy as np
import tensorflow as tf

from run.training.host_batches import WHOLE
from run.training.padding import Padding

# Number of batches to sort by length together. More save little time and shuffle less.
NUM_SORTED_BATCHES = 50


def training_batches(
    arrays, batch_size, seed, *, first_step=0, padding=Padding.DYNAMIC, share=WHOLE
):
    """Creates endless training batches; every example is used once before any is repeated.

    The examples of `NUM_SORTED_BATCHES` batches are sorted by length and split into batches, which
    are used in random order. Each batch is as long as its longest example. With static padding,
    batches contain random examples and have the arrays' length.

    Args:
      arrays: Dict of arrays [n, ...] or StackedRows of `stored_rows`, with input_mask [n, S] or [n,
        choices, S].
      batch_size: int. Examples per batch, B, over all replicas.
      seed: int. Seed of the order.
      first_step: int. Number of the first batch.
      padding: Padding.
      share: HostShare. Rows of each batch to return.

    Returns:
      Dataset of dicts of name to [rows, ...]. Arrays as wide as input_mask are truncated to the
      longest example of the entire batch.
    """
    lengths = count_tokens(arrays["input_mask"])
    # Sorts at most one epoch; otherwise copies of an example would be in the same batch.
    num_sorted_batches = 1
    if padding is not Padding.STATIC:
        num_sorted_batches = max(1, min(NUM_SORTED_BATCHES, len(lengths) // batch_size))

    def batches():
        """Yields batches without end, from `first_step`."""
        step = first_step
        while True:
            for rows in _sort_batches(
                lengths,
                batch_size,
                seed,
                step // num_sorted_batches,
                num_sorted_batches,
                step % num_sorted_batches,
            ):
                yield take_rows(arrays, rows, padding, share)
                step += 1

    num_rows = len(range(batch_size)[share.rows(batch_size)])
    return tf.data.Dataset.from_generator(
        batches, output_signature=signature(arrays, num_rows, padding)
    ).prefetch(tf.data.AUTOTUNE)


def count_tokens(input_mask):
    """Returns the tokens per example, or of its longest choice, int [n].

    `input_mask`: [n, S] or [n, choices, S].
    """
    lengths = input_mask.sum(axis=-1)
    return lengths if lengths.ndim == 1 else lengths.max(axis=1)


def take_rows(arrays, rows, padding=Padding.DYNAMIC, share=WHOLE):
    """Returns a HostShare of a batch: dict of arrays [B, ...], truncated to the longest row.

    The longest row is the longest of all `rows`.

    With static padding they are not truncated.
    """
    width = arrays["input_mask"].shape[-1]
    longest = width
    if padding is not Padding.STATIC:
        longest = int(count_tokens(arrays["input_mask"][rows]).max())
    rows = rows[share.rows(len(rows))]
    return {name: _select_rows(values, rows, width, longest) for name, values in arrays.items()}


def _select_rows(values, rows, width, length):
    """Returns `rows` of an array or of StackedRows.

    Arrays of input_mask's `width` are truncated to `length`.
    """
    if not isinstance(values, np.ndarray):
        return values.read(rows, length)
    return values[rows][..., :length] if _is_wide(values, width) else values[rows]


def _is_wide(values, width):
    return values.ndim > 1 and values.shape[-1] == width


def _sort_batches(lengths, batch_size, seed, group, num_sorted_batches, skip):
    """Yields the rows [B] of each batch of a group of `num_sorted_batches` batches.

    It starts at batch `skip`.
    """
    first = group * num_sorted_batches * batch_size
    rows = _stream(len(lengths), seed, first, first + num_sorted_batches * batch_size)
    if num_sorted_batches > 1:
        rows = rows[np.argsort(lengths[rows], kind="stable")]
    order = _rng(seed, 1, group).permutation(num_sorted_batches)
    for batch in order[skip:]:
        yield rows[batch * batch_size : (batch + 1) * batch_size]


def _stream(num_examples, seed, start, stop):
    """Returns the rows from `start` to `stop` of the concatenated permutations of all epochs."""
    epochs = range(start // num_examples, (stop - 1) // num_examples + 1)
    rows = np.concatenate([_rng(seed, 0, epoch).permutation(num_examples) for epoch in epochs])
    offset = epochs[0] * num_examples
    return rows[start - offset : stop - offset]


def _rng(seed, *stream):
    """Creates the NumPy generator for a stream of a seed.

    NumPy rejects negative seeds, so they are mapped.
    """
    return np.random.default_rng((seed % 2**64, *stream))


def signature(arrays, num_rows, padding=Padding.DYNAMIC):
    """Returns dict of tf.TensorSpec for `take_rows` of `num_rows` rows.

    Rows have any length, except with static padding.
    """
    width = arrays["input_mask"].shape[-1]
    lengths_vary = padding is not Padding.STATIC

    def spec(values):
        shape = [num_rows, *values.shape[1:]]
        if not isinstance(values, np.ndarray):
            shape[1] = None if lengths_vary else width
        elif _is_wide(values, width) and lengths_vary:
            shape[-1] = None
        return tf.TensorSpec(shape, values.dtype)

    return {name: spec(values) for name, values in arrays.items()}
