"""Batches of examples that are held in arrays, examples of similar length together.

The order is arithmetic on the seed: batch k of a run can be made without making those before it, so a run that
was stopped resumes with the batches it would have had.
"""

import abc

import numpy as np
import tensorflow as tf

from run.training.host_batches import WHOLE

SORTED_BATCHES = 50  # batches whose examples are sorted by length together: more save little, and shuffle less


class RowsOnDisk(abc.ABC):
    """What may stand among arrays and is read row by row: a sequence of vectors for each example.

    Attributes:
      dtype: NumPy's.
      shape: (n, S, ...), S of the longest example.
    """

    @abc.abstractmethod
    def read(self, rows, length):
        """The vectors of examples `rows`, int [B], zeros after each one's last: array [B, length, ...]."""


def training_batches(arrays, batch_size, seed, *, first_step=0, static_shapes=False, share=WHOLE):
    """Batches for training, endlessly; every example comes once before any comes again.

    The examples of `SORTED_BATCHES` batches are sorted by length and cut into batches, which then come in random
    order; each is as long as its longest example. With `static_shapes` the batches are of random examples and all
    of the arrays' length.

    Args:
      arrays: dict of arrays [n, ...] or RowsOnDisk, with input_mask [n, S] or [n, choices, S].
      batch_size: examples in a batch, B, over all replicas.
      seed: int, fixes the order.
      first_step: number of the first batch.
      static_shapes: whether all batches are to have one shape, as TPUs and XLA need.
      share: HostShare, which rows of each batch to give.

    Returns:
      Dataset of dicts of name -> [rows, ...], those as wide as input_mask cut to the longest example of the whole
      batch.
    """
    lengths = lengths_of(arrays["input_mask"])
    # No more than an epoch is sorted: copies of an example would end in the same batch.
    sorted_batches = 1 if static_shapes else max(1, min(SORTED_BATCHES, len(lengths) // batch_size))

    def batches():
        step = first_step
        while True:
            for rows in _window(lengths, batch_size, seed, step // sorted_batches, sorted_batches,
                                step % sorted_batches):
                yield take_rows(arrays, rows, static_shapes, share)
                step += 1

    return _dataset(batches, arrays, len(range(batch_size)[share.rows(batch_size)]), static_shapes)


def rows_of_step(num_examples, batch_size, seed, step):
    """The examples [B] of a batch of training_batches with static shapes."""
    return _stream(num_examples, seed, step * batch_size, (step + 1) * batch_size)


def lengths_of(input_mask):
    """Pieces of each example, int [n], or of its longest choice: input_mask [n, S] or [n, choices, S]."""
    lengths = input_mask.sum(axis=-1)
    return lengths if lengths.ndim == 1 else lengths.max(axis=1)


def take_rows(arrays, rows, static_shapes=False, share=WHOLE):
    """A HostShare of a batch, dict of arrays [B, ...]: `rows` of arrays, cut to the longest of all rows of the batch.

    With `static_shapes` they are not cut.
    """
    width = arrays["input_mask"].shape[-1]
    longest = width if static_shapes else int(lengths_of(arrays["input_mask"][rows]).max())
    rows = rows[share.rows(len(rows))]
    return {name: _taken(values, rows, width, longest) for name, values in arrays.items()}


def _taken(values, rows, width, longest):
    """`rows` of an array, or of RowsOnDisk; what is as wide as input_mask, `width`, is cut to `longest`."""
    if isinstance(values, RowsOnDisk):
        return values.read(rows, longest)
    return values[rows][..., :longest] if _is_wide(values, width) else values[rows]


def _is_wide(values, width):
    return values.ndim > 1 and values.shape[-1] == width


def _window(lengths, batch_size, seed, window, sorted_batches, skip):
    """Yields the rows [B] of each batch of a window of `sorted_batches` batches, from batch `skip` on."""
    first = window * sorted_batches * batch_size
    rows = _stream(len(lengths), seed, first, first + sorted_batches * batch_size)
    if sorted_batches > 1:
        rows = rows[np.argsort(lengths[rows], kind="stable")]
    order = _rng(seed, 1, window).permutation(sorted_batches)
    for batch in order[skip:]:
        yield rows[batch * batch_size : (batch + 1) * batch_size]


def _stream(num_examples, seed, start, stop):
    """Rows at the places start up to stop of all epochs' permutations, one after the other."""
    epochs = range(start // num_examples, (stop - 1) // num_examples + 1)
    rows = np.concatenate([_rng(seed, 0, epoch).permutation(num_examples) for epoch in epochs])
    offset = epochs[0] * num_examples
    return rows[start - offset : stop - offset]


def _rng(seed, *stream):
    """NumPy's generator of a stream of a seed, any int: it takes none that is negative."""
    return np.random.default_rng((seed % 2**64, *stream))


def signature(arrays, num_rows, static_shapes=False):
    """Dict of the tf.TensorSpec of what `take_rows` gives of `num_rows` rows, of any length unless `static_shapes`."""
    width = arrays["input_mask"].shape[-1]

    def spec(values):
        shape = [num_rows, *values.shape[1:]]
        if isinstance(values, RowsOnDisk):
            shape[1] = width if static_shapes else None
        elif _is_wide(values, width) and not static_shapes:
            shape[-1] = None
        return tf.TensorSpec(shape, values.dtype)

    return {name: spec(values) for name, values in arrays.items()}


def _dataset(batches, arrays, num_rows, static_shapes):
    dataset = tf.data.Dataset.from_generator(batches, output_signature=signature(arrays, num_rows, static_shapes))
    return dataset.prefetch(tf.data.AUTOTUNE)
