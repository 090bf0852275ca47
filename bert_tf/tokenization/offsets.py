"""Byte and character offsets in a batch of texts, and conversions between them.

Positions in rows of a ragged batch [B, (N)] are made comparable across rows by concatenating the rows.
"""

import tensorflow as tf

from bert_tf.tokenization import ragged

_ROW_SHIFT = 32  # Texts are shorter than 2^32 bytes.

# UTF-8 as defined by Python and the Unicode standard: no surrogates. The dot of RE2 matches those.
_WELL_FORMED = r"[\x{0}-\x{d7ff}\x{e000}-\x{10ffff}]*"


def across_rows(positions):
    """Flattens positions in rows, RaggedTensor int64 [B, (N)], to a vector that is ascending if each row is."""
    return positions.values + tf.bitwise.left_shift(ragged.row_numbers(positions), _ROW_SHIFT)


def characters_before(texts, positions):
    """Counts the characters that begin before each byte position.

    Characters are counted as in `text.decode("utf-8", "ignore")` of Python.

    Args:
      texts: string [B].
      positions: List of RaggedTensors int64 [B, (N)], each position in [0, bytes of its text].

    Returns:
      List of RaggedTensors int32 [B, (N)].
    """
    lengths = tf.cast(tf.strings.length(texts), tf.int64)
    text_starts = tf.cumsum(lengths, exclusive=True)

    def from_bytes():
        content = tf.io.decode_raw(tf.strings.reduce_join(texts), tf.uint8)
        return tf.cast(tf.bitwise.bitwise_and(content, 0xC0) != 0x80, tf.int32)  # Not for continuation bytes.

    def from_decoding():
        _, starts = tf.strings.unicode_decode_with_offsets(texts, "UTF-8", errors="ignore")
        begins = starts.values + tf.gather(text_starts, ragged.row_numbers(starts))
        return tf.scatter_nd(begins[:, tf.newaxis], tf.ones_like(begins, tf.int32), [tf.reduce_sum(lengths)])

    well_formed = tf.reduce_all(tf.strings.regex_full_match(texts, _WELL_FORMED))
    count = tf.concat([[0], tf.cumsum(tf.cond(well_formed, from_bytes, from_decoding))], 0)
    row_counts = tf.gather(count, text_starts)

    def count_before(rows):
        row = ragged.row_numbers(rows)
        return rows.with_values(tf.gather(count, tf.gather(text_starts, row) + rows.values)
                                - tf.gather(row_counts, row))

    return list(map(count_before, positions))


def source_spans(starts, ends, sources):
    """Maps byte spans of a normalizer's output to spans of its input.

    Args:
      starts, ends: RaggedTensors int64 [B, (N)]. Half-open, non-empty byte spans of the output.
      sources: RaggedTensor int64 [B, (output bytes + 1)], ascending. Source byte in the text of each output byte,
        followed by the length of the text.

    Returns:
      Tuple `(starts, ends)`: RaggedTensors int64 [B, (N)]. A span ends at the start of the next character that the
      normalizer kept.
    """
    row_starts = tf.gather(sources.row_starts(), ragged.row_numbers(starts))
    sources = sources.values
    last = tf.gather(sources, row_starts + ends.values - 1)

    # All output for a character comes from its first byte, and a token can end in the middle of it.
    def inside(following):
        return tf.gather(sources, following) == last

    following, = tf.while_loop(
        lambda following: tf.reduce_any(inside(following)),
        lambda following: [following + tf.cast(inside(following), tf.int64)],
        [row_starts + ends.values])
    return (starts.with_values(tf.gather(sources, row_starts + starts.values)),
            ends.with_values(tf.gather(sources, following)))


def whole_characters(texts, positions):
    """Moves byte positions [B, (N)] that are inside a character of string [B] `texts` to the start of the character."""
    _, starts = tf.strings.unicode_decode_with_offsets(texts, "UTF-8", errors="ignore")
    text_ends = tf.cast(tf.strings.length(texts), tf.int64)
    starts = ragged.concatenate_rows(starts, ragged.split_by_lengths(text_ends, tf.ones_like(text_ends)))
    indices = tf.searchsorted(across_rows(starts), across_rows(positions), side="right") - 1
    return positions.with_values(tf.gather(starts.values, indices))
