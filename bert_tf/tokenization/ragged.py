"""Operations on rows of tokens that use few graph ops.

TensorFlow's own functions for RaggedTensors (`tf.concat`, `tf.ragged.boolean_mask`, comparisons, `value_rowids`) take
dozens of ops, and check known facts at run time, with a conditional and two functions per check. They used to be most
of an exported graph, and increased the time to trace, load, and first run it.

Legend: B rows, (N) a ragged dimension.
"""

import tensorflow as tf


def take(values, begins, lengths):
    """Extracts rows from a flat tensor.

    Args:
      values: [V].
      begins, lengths: int64 [B]. Start of each row in `values`, and its number of elements.

    Returns:
      RaggedTensor [B, (lengths)].
    """
    indices = tf.ragged.range(begins, begins + lengths)
    return indices.with_values(tf.gather(values, indices.values))


def row_numbers(rows):
    """Returns the row number of each element: RaggedTensor [B, (N)] -> int64 [all N]."""
    ends = rows.row_splits[1:]
    size = tf.size(rows.values, tf.int64)
    return tf.cumsum(tf.math.unsorted_segment_sum(tf.ones_like(ends), ends, size + 1))[:-1]


def sum_rows(rows):
    """Sums each row: RaggedTensor [B, (N)] of integers -> [B]."""
    before = tf.gather(_before(rows.values), rows.row_splits)
    return before[1:] - before[:-1]


def concatenate_rows(*parts):
    """Concatenates RaggedTensors [B, (N)] of one dtype row by row -> RaggedTensor [B, (all N)]."""
    sizes = tf.stack([tf.size(part.values, tf.int64) for part in parts])
    begins = tf.stack([part.row_starts() for part in parts], 1) + tf.cumsum(sizes, exclusive=True)  # [B, parts]
    lengths = tf.stack([part.row_lengths() for part in parts], 1)
    values = take(tf.concat([part.values for part in parts], 0), tf.reshape(begins, [-1]), tf.reshape(lengths, [-1]))
    return split_by_lengths(values.values, tf.reduce_sum(lengths, axis=1))


def replace_rows(old, new, numbers):
    """Replaces the rows of a RaggedTensor [B, (N)] with the int64 [K] `numbers` by the rows of `new` [K, (N)]."""
    indices = numbers[:, tf.newaxis]
    begins = tf.tensor_scatter_nd_update(old.row_starts(), indices, new.row_starts() + tf.size(old.values, tf.int64))
    lengths = tf.tensor_scatter_nd_update(old.row_lengths(), indices, new.row_lengths())
    return take(tf.concat([old.values, new.values], 0), begins, lengths)


def select(rows, is_kept):
    """Selects elements: RaggedTensor [B, (N)], bool [all N] -> RaggedTensor."""
    splits = tf.gather(_before(tf.cast(is_kept, tf.int64)), rows.row_splits)
    return tf.RaggedTensor.from_row_splits(tf.gather(rows.values, tf.where(is_kept)[:, 0]), splits, validate=False)


def select_columns(values, is_kept):
    """Selects elements of each row: [B, N], bool [B, N] -> RaggedTensor [B, (N)]."""
    return split_by_lengths(tf.gather_nd(values, tf.where(is_kept)), tf.reduce_sum(tf.cast(is_kept, tf.int64), axis=1))


def merge_dimensions(outer, inner):
    """Removes the middle dimension: RaggedTensors [B, (W)] of any dtype, and [all W, (N)] -> [B, (N of its W)]."""
    return tf.RaggedTensor.from_row_splits(inner.values, tf.gather(inner.row_splits, outer.row_splits), validate=False)


def split_by_lengths(values, lengths):
    """Splits values into rows: [V], int64 [B] -> RaggedTensor [B, (lengths)]."""
    return tf.RaggedTensor.from_row_lengths(values, lengths, validate=False)


def _before(values):
    """Computes the sum of all previous elements, and of all elements: [N] -> [N + 1]."""
    return tf.concat([tf.zeros([1], values.dtype), tf.cumsum(values)], 0)
