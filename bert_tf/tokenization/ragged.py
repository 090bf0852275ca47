"""Operations on rows of tokens that use few graph ops.

TensorFlow's own functions for RaggedTensors (`tf.concat`, `tf.ragged.boolean_mask`, comparisons,
`value_rowids`) take dozens of ops, and check known facts at run time, with a conditional and two
functions per check. They used to be most of an exported graph, and increased the time to trace,
load, and first run it.

Below them are conversions of byte and character offsets in a batch of texts. Positions in rows of a
ragged batch are made comparable across rows by concatenating the rows.

Shape legend: B batch, (items) a ragged dimension.
"""

import tensorflow as tf

_ROW_SHIFT = 32  # Texts are shorter than 2^32 bytes.

# UTF-8 as defined by Python and the Unicode standard: no surrogates. The dot of RE2 matches those.
_WELL_FORMED = r"[\x{0}-\x{d7ff}\x{e000}-\x{10ffff}]*"


def take_slices(values, begins, lengths):
    """Extracts rows of values [n]: int64 [B] starts and lengths -> RaggedTensor [B, (lengths)]."""
    indices = tf.ragged.range(begins, begins + lengths)
    return indices.with_values(tf.gather(values, indices.values))


def row_numbers(rows):
    """Returns the row number of each element: RaggedTensor [B, (items)] -> int64 [all items]."""
    ends = rows.row_splits[1:]
    size = tf.size(rows.values, tf.int64)
    return tf.cumsum(tf.math.unsorted_segment_sum(tf.ones_like(ends), ends, size + 1))[:-1]


def sum_rows(rows):
    """Sums each row: RaggedTensor [B, (items)] of integers -> [B]."""
    before = tf.gather(_before(rows.values), rows.row_splits)
    return before[1:] - before[:-1]


def concatenate_rows(*parts):
    """Concatenates RaggedTensors [B, (items)] of one dtype row by row -> the same type."""
    sizes = tf.stack([tf.size(part.values, tf.int64) for part in parts])
    # The beginnings and lengths are [B, parts].
    begins = tf.stack([part.row_starts() for part in parts], 1) + tf.cumsum(sizes, exclusive=True)
    lengths = tf.stack([part.row_lengths() for part in parts], 1)
    values = take_slices(
        tf.concat([part.values for part in parts], 0),
        tf.reshape(begins, [-1]),
        tf.reshape(lengths, [-1]),
    )
    return split_by_lengths(values.values, tf.reduce_sum(lengths, axis=1))


def replace_rows(old, new, numbers):
    """Replaces some rows of a RaggedTensor [B, (items)].

    Args:
      old: RaggedTensor [B, (items)].
      new: RaggedTensor [rows, (items)]. The new rows.
      numbers: int64 [rows]. Numbers of the rows to replace.
    """
    indices = numbers[:, tf.newaxis]
    begins = tf.tensor_scatter_nd_update(
        old.row_starts(), indices, new.row_starts() + tf.size(old.values, tf.int64)
    )
    lengths = tf.tensor_scatter_nd_update(old.row_lengths(), indices, new.row_lengths())
    return take_slices(tf.concat([old.values, new.values], 0), begins, lengths)


def select(rows, is_kept):
    """Selects elements: RaggedTensor [B, (items)], bool [all items] -> RaggedTensor."""
    splits = tf.gather(_before(tf.cast(is_kept, tf.int64)), rows.row_splits)
    return tf.RaggedTensor.from_row_splits(
        tf.gather(rows.values, tf.where(is_kept)[:, 0]), splits, validate=False
    )


def select_columns(values, is_kept):
    """Selects elements of each row: [B, items], bool [B, items] -> RaggedTensor [B, (items)]."""
    return split_by_lengths(
        tf.gather_nd(values, tf.where(is_kept)), tf.reduce_sum(tf.cast(is_kept, tf.int64), axis=1)
    )


def merge_dimensions(outer, inner):
    """Removes the middle dimension of two nested RaggedTensors.

    Args:
      outer: RaggedTensor [B, (parts)] of any dtype.
      inner: RaggedTensor [all parts, (items)].

    Returns:
      RaggedTensor [B, (items of its parts)].
    """
    return tf.RaggedTensor.from_row_splits(
        inner.values, tf.gather(inner.row_splits, outer.row_splits), validate=False
    )


def split_by_lengths(values, lengths):
    """Splits values into rows: [n], int64 [B] -> RaggedTensor [B, (lengths)]."""
    return tf.RaggedTensor.from_row_lengths(values, lengths, validate=False)


def _before(values):
    """Computes the sum of all previous elements, and of all elements: [n] -> [n + 1]."""
    return tf.concat([tf.zeros([1], values.dtype), tf.cumsum(values)], 0)


def across_rows(positions):
    """Flattens positions, RaggedTensor int64 [B, (items)], to a vector.

    It is ascending if each row is.
    """
    return positions.values + tf.bitwise.left_shift(row_numbers(positions), _ROW_SHIFT)


def characters_before(texts, positions):
    """Counts the characters that begin before each byte position.

    The characters are the same as in `text.decode("utf-8", "ignore")` of Python.

    Args:
      texts: string [B].
      positions: List of RaggedTensors int64 [B, (items)], each position in [0, bytes of its text].

    Returns:
      List of RaggedTensors int32 [B, (items)].
    """
    lengths = tf.cast(tf.strings.length(texts), tf.int64)
    text_starts = tf.cumsum(lengths, exclusive=True)

    def from_bytes():
        content = tf.io.decode_raw(tf.strings.reduce_join(texts), tf.uint8)
        # A character begins at each byte that is not a continuation byte.
        return tf.cast(tf.bitwise.bitwise_and(content, 0xC0) != 0x80, tf.int32)

    def from_decoding():
        _, starts = tf.strings.unicode_decode_with_offsets(texts, "UTF-8", errors="ignore")
        begins = starts.values + tf.gather(text_starts, row_numbers(starts))
        return tf.scatter_nd(
            begins[:, tf.newaxis], tf.ones_like(begins, tf.int32), [tf.reduce_sum(lengths)]
        )

    well_formed = tf.reduce_all(tf.strings.regex_full_match(texts, _WELL_FORMED))
    count = tf.concat([[0], tf.cumsum(tf.cond(well_formed, from_bytes, from_decoding))], 0)
    row_counts = tf.gather(count, text_starts)

    def count_before(rows):
        row = row_numbers(rows)
        return rows.with_values(
            tf.gather(count, tf.gather(text_starts, row) + rows.values) - tf.gather(row_counts, row)
        )

    return list(map(count_before, positions))


def source_spans(starts, ends, sources):
    """Maps half-open, non-empty byte spans of a normalizer's output to spans of its input.

    Args:
      starts, ends: RaggedTensors int64 [B, (items)].
      sources: RaggedTensor int64 [B, (output bytes + 1)], ascending. Source byte in the text of
        each output byte, followed by the length of the text.

    Returns:
      Tuple like `(starts, ends)`. A span ends at the start of the next character that the
      normalizer kept.
    """
    row_starts = tf.gather(sources.row_starts(), row_numbers(starts))
    sources = sources.values
    last = tf.gather(sources, row_starts + ends.values - 1)

    # All output for a character comes from its first byte, and a token can end in the middle of it.
    def inside(following):
        return tf.gather(sources, following) == last

    (following,) = tf.while_loop(
        lambda following: tf.reduce_any(inside(following)),
        lambda following: [following + tf.cast(inside(following), tf.int64)],
        [row_starts + ends.values],
    )
    return (
        starts.with_values(tf.gather(sources, row_starts + starts.values)),
        ends.with_values(tf.gather(sources, following)),
    )


def whole_characters(texts, positions):
    """Moves byte positions that are inside a character of a text to the start of the character.

    Args:
      texts: string [B].
      positions: RaggedTensor int64 [B, (items)].
    """
    _, starts = tf.strings.unicode_decode_with_offsets(texts, "UTF-8", errors="ignore")
    text_ends = tf.cast(tf.strings.length(texts), tf.int64)
    starts = concatenate_rows(starts, split_by_lengths(text_ends, tf.ones_like(text_ends)))
    indices = tf.searchsorted(across_rows(starts), across_rows(positions), side="right") - 1
    return positions.with_values(tf.gather(starts.values, indices))
