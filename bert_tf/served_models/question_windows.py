"""Contexts as in SQuAD, in graph ops: tokens and their sources, and the window with the most context of each token.

Legend: B contexts, P all their tokens, W all their windows.
"""

from typing import NamedTuple

import tensorflow as tf

from bert_tf.tokenization import ragged
from bert_tf.tokenization.model_inputs import to_dense

# Word separators of the original's `read_squad_examples`; each is replaced by the same number of space bytes.
_WORD_SEPARATORS = (("[\t\r\n]", " "), ("\u202f", "   "))


class Pieces(NamedTuple):
    """The tokens of contexts and their sources; int64 except for the IDs and `texts`.

    Attributes:
      texts: string [B]. Contexts without invalid UTF-8 bytes.
      ids: RaggedTensor int32 [B, (tokens)].
      byte_starts, byte_ends: [P]. Half-open span of each token in its text.
    """

    texts: tf.Tensor
    ids: tf.RaggedTensor
    byte_starts: tf.Tensor
    byte_ends: tf.Tensor


def split(tokenizer, texts):
    """Tokenizes contexts word by word, as in the original; string [B] -> `Pieces`."""
    texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="ignore")
    spaced = texts
    for separator, spaces in _WORD_SEPARATORS:
        spaced = tf.strings.regex_replace(spaced, separator, spaces)
    parts = tf.strings.split(spaced, " ")  # "" between two spaces
    lengths = tf.cast(tf.strings.length(parts.values), tf.int64)
    ends = tf.cumsum(lengths + 1) - 1
    before = tf.gather(tf.concat([[0], ends + 1], 0), parts.row_starts())  # bytes of earlier rows
    ends -= tf.gather(before, ragged.row_numbers(parts))
    is_word = lengths > 0
    words = ragged.select(parts, is_word)
    tokens = tokenizer.tokenize_with_offsets(words.values)
    word_starts = tf.gather(tf.boolean_mask(ends - lengths, is_word), ragged.row_numbers(tokens.ids))
    return Pieces(texts, ragged.merge_dimensions(words, tokens.ids),
                  *(word_starts + tf.cast(each.values, tf.int64) for each in (tokens.byte_starts, tokens.byte_ends)))


def span_texts(pieces, rows, first, last):
    """Extracts the source text of token spans, with any white space between words as one space.

    The original's `get_final_text`, which writes the prediction files, does not know the sources. It searches for the
    tokens, and returns complete words, up to the next white space, if a token is [UNK] or has other characters than
    the text.

    Args:
      pieces: `Pieces`.
      rows: int64 [A]. Context of each span.
      first, last: int64 [A]. Tokens, counted over all contexts.

    Returns:
      Tuple `(texts, starts, ends)`: string [A]; int32 [A], the half-open span in the context, in characters.
    """
    starts, ends = tf.gather(pieces.byte_starts, first), tf.gather(pieces.byte_ends, last)
    contexts = tf.gather(pieces.texts, rows)
    as_written = tf.strings.substr(contexts, starts, ends - starts)
    before = tf.strings.length(tf.strings.substr(contexts, tf.zeros_like(starts), starts), "UTF8_CHAR")
    return (tf.strings.regex_replace(as_written, "[ \t\r\n\u202f]+", " "), before,
            before + tf.strings.length(as_written, "UTF8_CHAR"))


def show_most_context(windows, positions, num_contexts):
    """Returns whether no other window shows more context of a token (the original's `_check_is_max_context`).

    Args:
      windows: Windows.
      positions: int64 [W, K]. Tokens of each window, 0-based within its context.
      num_contexts: int64, B.

    Returns:
      bool [W, K].
    """
    def group_by_context(values):  # [W] -> [W, 1, windows of the same context]
        those = tf.RaggedTensor.from_value_rowids(values, windows.rows, num_contexts, validate=False)
        return tf.gather(to_dense(those, 0), windows.rows)[:, tf.newaxis]

    starts, lengths = group_by_context(windows.starts), group_by_context(windows.lengths)
    left = positions[..., tf.newaxis] - starts
    right = lengths - 1 - left
    # Double precision, as in Python, so that the same windows are equal.
    context = tf.cast(tf.minimum(left, right), tf.float64) + 0.01 * tf.cast(lengths, tf.float64)
    context = tf.where((left >= 0) & (right >= 0), context, -1.0)
    number = tf.range(tf.size(windows.rows, tf.int64)) - tf.searchsorted(windows.rows, windows.rows, out_type=tf.int64)
    return tf.argmax(context, axis=-1) == number[:, tf.newaxis]
