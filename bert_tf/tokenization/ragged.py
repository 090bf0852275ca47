"""Rows of pieces taken apart and put together, in few operations.

TensorFlow's own functions of RaggedTensors (`tf.concat`, `tf.ragged.boolean_mask`, comparisons, `value_rowids`) check
at run time what is known here, with a conditional and two functions for each check, and take dozens of operations. They
made up most of an exported graph, which takes as much longer to trace, to load and to run for the first time.

Legend: B rows, (N) a ragged dimension.
"""

import tensorflow as tf


def take(values, begins, lengths):
    """Cuts rows out of a flat tensor.

    Args:
      values: [V].
      begins, lengths: int64 [B], where each row begins in `values`, and how many elements it has.

    Returns:
      RaggedTensor [B, (lengths)].
    """
    places = tf.ragged.range(begins, begins + lengths)
    return places.with_values(tf.gather(values, places.values))


def row_numbers(rows):
    """RaggedTensor [B, (N)] -> int64 [all N], the row that each element is in."""
    ends = rows.row_splits[1:]
    size = tf.size(rows.values, tf.int64)
    return tf.cumsum(tf.math.unsorted_segment_sum(tf.ones_like(ends), ends, size + 1))[:-1]


def sums(rows):
    """RaggedTensor [B, (N)] of whole numbers -> the sum of each row, [B]."""
    before = tf.gather(_before(rows.values), rows.row_splits)
    return before[1:] - before[:-1]


def side_by_side(*parts):
    """RaggedTensors [B, (N)] of one type -> RaggedTensor [B, (all N)]: a row of each after that of the one before."""
    sizes = tf.stack([tf.size(part.values, tf.int64) for part in parts])
    begins = tf.stack([part.row_starts() for part in parts], 1) + tf.cumsum(sizes, exclusive=True)  # [B, parts]
    lengths = tf.stack([part.row_lengths() for part in parts], 1)
    values = take(tf.concat([part.values for part in parts], 0), tf.reshape(begins, [-1]), tf.reshape(lengths, [-1]))
    return of_lengths(values.values, tf.reduce_sum(lengths, axis=1))


def replaced(old, new, places):
    """The rows of a RaggedTensor [B, (N)] with those at int64 [K] `places` exchanged for those of `new` [K, (N)]."""
    places = places[:, tf.newaxis]
    begins = tf.tensor_scatter_nd_update(old.row_starts(), places, new.row_starts() + tf.size(old.values, tf.int64))
    lengths = tf.tensor_scatter_nd_update(old.row_lengths(), places, new.row_lengths())
    return take(tf.concat([old.values, new.values], 0), begins, lengths)


def kept(rows, is_kept):
    """RaggedTensor [B, (N)], bool [all N] -> the elements that are kept."""
    splits = tf.gather(_before(tf.cast(is_kept, tf.int64)), rows.row_splits)
    return tf.RaggedTensor.from_row_splits(tf.gather(rows.values, tf.where(is_kept)[:, 0]), splits, validate=False)


def kept_columns(values, is_kept):
    """[B, N], bool [B, N] -> RaggedTensor [B, (N)] of the elements that are kept."""
    return of_lengths(tf.gather_nd(values, tf.where(is_kept)), tf.reduce_sum(tf.cast(is_kept, tf.int64), axis=1))


def merged(outer, inner):
    """RaggedTensors [B, (W)] of any type, and [all W, (N)] -> [B, (N of its W)]."""
    return tf.RaggedTensor.from_row_splits(inner.values, tf.gather(inner.row_splits, outer.row_splits), validate=False)


def of_lengths(values, lengths):
    """[V], int64 [B] -> RaggedTensor [B, (lengths)]."""
    return tf.RaggedTensor.from_row_lengths(values, lengths, validate=False)


def _before(numbers):
    """[N] -> [N + 1], the sum of what comes before each, and of all."""
    return tf.concat([tf.zeros([1], numbers.dtype), tf.cumsum(numbers)], 0)
