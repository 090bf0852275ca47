"""Contexts as in SQuAD, in graph ops: words and their tokens, and the window with the most context around each token.

Legend: B contexts, N all their words, P all their tokens, W all their windows.
"""

from typing import NamedTuple

import tensorflow as tf

from bert_tf.tokenization import ragged
from bert_tf.tokenization.model_inputs import to_dense
from bert_tf.tokenization.vocabulary import SUFFIX_INDICATOR

# Word separators of the original's `read_squad_examples`; each is replaced by the same number of space bytes.
_WORD_SEPARATORS = (("[\t\r\n]", " "), ("\u202f", "   "))


class Pieces(NamedTuple):
    """The tokens of contexts and their sources; int64 except for the IDs and `texts`.

    Attributes:
      texts: string [B]. Contexts without invalid UTF-8 bytes.
      ids: RaggedTensor int32 [B, (tokens)].
      byte_starts, byte_ends: [P]. Half-open span of each token in its text.
      words: [P]. Number of the word of each token, counted over all contexts.
      word_starts, word_ends: [N]. Byte spans of the words.
      odd_words: [N + 1]. Number of previous words whose characters differ from those of their tokens.
      unknown_pieces: [P + 1]. Number of previous tokens that are [UNK].
    """

    texts: tf.Tensor
    ids: tf.RaggedTensor
    byte_starts: tf.Tensor
    byte_ends: tf.Tensor
    words: tf.Tensor
    word_starts: tf.Tensor
    word_ends: tf.Tensor
    odd_words: tf.Tensor
    unknown_pieces: tf.Tensor


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
    word_starts = tf.boolean_mask(ends - lengths, is_word)
    tokens = tokenizer.tokenize_with_offsets(words.values)
    word = ragged.row_numbers(tokens.ids)
    return Pieces(
        texts, ragged.merge_dimensions(words, tokens.ids),
        tf.gather(word_starts, word) + tf.cast(tokens.byte_starts.values, tf.int64),
        tf.gather(word_starts, word) + tf.cast(tokens.byte_ends.values, tf.int64),
        word, word_starts, word_starts + tf.cast(tf.strings.length(words.values), tf.int64),
        _count_before(_is_odd(tokenizer, words.values, tokens.ids)),
        _count_before(tokens.ids.values == tokenizer.unk_id))


def _is_odd(tokenizer, words, ids):
    """Returns bool [N], whether a word's tokens have a different number of characters, for example without accents."""
    widths = tf.constant([len(piece.removeprefix(SUFFIX_INDICATOR)) for piece in tokenizer.vocabulary], tf.int64)
    characters = ragged.sum_rows(ids.with_values(tf.gather(widths, ids.values)))
    is_known = ragged.sum_rows(ids.with_values(tf.cast(ids.values == tokenizer.unk_id, tf.int64))) == 0
    return is_known & (characters != tf.cast(tf.strings.length(words, "UTF8_CHAR"), tf.int64))


def _count_before(flags):
    return tf.concat([[0], tf.cumsum(tf.cast(flags, tf.int64))], 0)


def span_texts(pieces, rows, first, last):
    """Extracts the text of token spans, as in the original's `get_final_text`.

    That is the source text of the tokens, with any white space between words as one space. If characters and tokens do
    not correspond one to one, or a token is [UNK], it is the complete words.

    Args:
      pieces: `Pieces`.
      rows: int64 [A]. Context of each span.
      first, last: int64 [A]. Tokens, counted over all contexts.

    Returns:
      Tuple `(texts, starts, ends)`: string [A]; int32 [A], the half-open span in the context, in characters.
    """
    def some_in(counts, first, last):
        return tf.gather(counts, last + 1) > tf.gather(counts, first)

    first_word, last_word = tf.gather(pieces.words, first), tf.gather(pieces.words, last)
    by_words = some_in(pieces.unknown_pieces, first, last) | some_in(pieces.odd_words, first_word, last_word)
    starts = tf.where(by_words, tf.gather(pieces.word_starts, first_word), tf.gather(pieces.byte_starts, first))
    ends = tf.where(by_words, tf.gather(pieces.word_ends, last_word), tf.gather(pieces.byte_ends, last))
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
