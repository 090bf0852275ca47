"""Offsets of bytes and of characters in a batch of texts, and how one is found from the other.

A position of row b of a ragged batch [B, (N)] becomes comparable across rows when the rows are laid end to end.
"""

import tensorflow as tf

from bert_tf.tokenization import ragged

_ROW_SHIFT = 32  # a text is shorter than 2^32 bytes

# Python's and the Unicode standard's UTF-8: no surrogates. RE2's own dot takes them for characters.
_WELL_FORMED = r"[\x{0}-\x{d7ff}\x{e000}-\x{10ffff}]*"


def across_rows(positions):
    """Positions within rows, RaggedTensor int64 [B, (N)], as one flat vector that ascends if each row does."""
    return positions.values + tf.bitwise.left_shift(ragged.row_numbers(positions), _ROW_SHIFT)


def characters_before(texts, positions):
    """How many characters begin before each byte position.

    The characters are those of Python's `text.decode("utf-8", "ignore")`.

    Args:
      texts: string [B].
      positions: list of RaggedTensors int64 [B, (N)], each position in [0, bytes of its text].

    Returns:
      List of RaggedTensors int32 [B, (N)].
    """
    lengths = tf.cast(tf.strings.length(texts), tf.int64)
    text_starts = tf.cumsum(lengths, exclusive=True)

    def from_bytes():
        content = tf.io.decode_raw(tf.strings.reduce_join(texts), tf.uint8)
        return tf.cast(tf.bitwise.bitwise_and(content, 0xC0) != 0x80, tf.int32)  # not a continuation byte

    def from_decoding():
        _, starts = tf.strings.unicode_decode_with_offsets(texts, "UTF-8", errors="ignore")
        begins = starts.values + tf.gather(text_starts, ragged.row_numbers(starts))
        return tf.scatter_nd(begins[:, tf.newaxis], tf.ones_like(begins, tf.int32), [tf.reduce_sum(lengths)])

    well_formed = tf.reduce_all(tf.strings.regex_full_match(texts, _WELL_FORMED))
    count = tf.concat([[0], tf.cumsum(tf.cond(well_formed, from_bytes, from_decoding))], 0)
    row_counts = tf.gather(count, text_starts)

    def before(places):
        row = ragged.row_numbers(places)
        return places.with_values(tf.gather(count, tf.gather(text_starts, row) + places.values)
                                  - tf.gather(row_counts, row))

    return [before(places) for places in positions]


def source_spans(starts, ends, sources):
    """Maps spans of bytes that a normaliser wrote to spans of the text that it read.

    Args:
      starts, ends: RaggedTensors int64 [B, (N)], half-open spans of written bytes, none of them empty.
      sources: RaggedTensor int64 [B, (bytes written + 1)], ascending: the byte of the text that each comes from,
        and the length of the text.

    Returns:
      (starts, ends): RaggedTensors int64 [B, (N)]. A span ends where the next character begins that the
      normaliser kept.
    """
    row_starts = tf.gather(sources.row_starts(), ragged.row_numbers(starts))
    sources = sources.values
    last = tf.gather(sources, row_starts + ends.values - 1)

    # All that was written for one character comes from its first byte, and a piece may end in the middle of it.
    def inside(following):
        return tf.gather(sources, following) == last

    following, = tf.while_loop(
        lambda following: tf.reduce_any(inside(following)),
        lambda following: [following + tf.cast(inside(following), tf.int64)],
        [row_starts + ends.values])
    return (starts.with_values(tf.gather(sources, row_starts + starts.values)),
            ends.with_values(tf.gather(sources, following)))


def whole_characters(texts, positions):
    """Moves byte positions [B, (N)] that are inside a character of string [B] `texts` to where it starts."""
    _, starts = tf.strings.unicode_decode_with_offsets(texts, "UTF-8", errors="ignore")
    text_ends = tf.cast(tf.strings.length(texts), tf.int64)
    starts = ragged.side_by_side(starts, ragged.of_lengths(text_ends, tf.ones_like(text_ends)))
    found = tf.searchsorted(across_rows(starts), across_rows(positions), side="right") - 1
    return positions.with_values(tf.gather(starts.values, found))
