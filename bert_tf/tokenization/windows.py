"""Long texts in overlapping windows, in graph ops.

Legend: B texts, W windows of all of them, S sequence, (tokens) a ragged dimension.
"""

from typing import NamedTuple

import tensorflow as tf

from bert_tf.tokenization import ragged
from bert_tf.tokenization.model_inputs import count_first, pack


class Windows(NamedTuple):
    """Windows of texts; int64 [W] except for `ids` and `was_cut`.

    Attributes:
      rows: Text of each window.
      starts: First token of each window, 0-based within its text.
      lengths: Number of tokens of each window.
      ids: RaggedTensor int32 [W, (tokens)].
      was_cut: bool [B]. Whether a text would need more windows than the maximum.
    """

    rows: tf.Tensor
    starts: tf.Tensor
    lengths: tf.Tensor
    ids: tf.RaggedTensor
    was_cut: tf.Tensor


def split_into_windows(ids, room, doc_stride, max_windows):
    """Splits texts into overlapping windows, as in the original's `convert_examples_to_features`.

    Args:
      ids: RaggedTensor int32 [B, (tokens)].
      room: int64 [B]. Maximum number of tokens of a window.
      doc_stride: int. Tokens between the starts of two windows, at most the length of a window.
      max_windows: int. Maximum number of windows of a text.

    Returns:
      Windows, at least one per text.
    """
    total = ids.row_lengths()
    step = tf.minimum(room, doc_stride)
    required = 1 + (tf.maximum(total - room, 0) + step - 1) // step
    counts = tf.minimum(required, max_windows)
    numbers = tf.ragged.range(counts)
    rows = ragged.row_numbers(numbers)
    starts = numbers.values * tf.gather(step, rows)
    lengths = tf.minimum(tf.gather(room, rows), tf.gather(total, rows) - starts)
    begin = tf.gather(ids.row_starts(), rows) + starts
    return Windows(rows, starts, lengths, ragged.take(ids.values, begin, lengths), required > counts)


def split_words(words, tokens, room, max_windows):
    """Divides texts between words into windows that are as full as possible; see `rows.split_words`.

    Args:
      words: RaggedTensor [B, (words)] of any dtype.
      tokens: RaggedTensor int32 [all words, (tokens)]. Each word has at least one.
      room: int. Maximum number of tokens of a window. A word with more tokens has its own window.
      max_windows: int. Maximum number of windows of a text.

    Returns:
      Tuple `(starts, stops, ids)`, in the order of the words; texts without words have no window. int64 [W] twice: the
      first word of each window, counted over all texts, and the word after its last one; RaggedTensor int32
      [W, (tokens)].
    """
    num_words = tokens.nrows()
    offsets = tf.concat([[0], tf.cumsum(tf.minimum(tokens.row_lengths(), room))], 0)  # [all words + 1]
    text_ends = tf.gather(words.row_splits, ragged.row_numbers(words) + 1)
    stops = tf.minimum(tf.searchsorted(offsets, offsets[:-1] + room, "right", tf.int64) - 1, text_ends)
    # The start of the next window for a window that starts at a word; `num_words` after the last one of a text.
    following = tf.concat([tf.where(stops < text_ends, stops, num_words), [num_words]], 0)

    def mark(count, starts):
        return count + tf.math.unsorted_segment_sum(tf.ones_like(starts), starts, num_words + 1)

    def add_windows(count, starts):
        starts = tf.gather(following, starts)
        return mark(count, starts), starts

    first = words.row_starts()
    count, _ = tf.while_loop(lambda _, starts: tf.reduce_any(starts < num_words), add_windows,
                             (mark(tf.zeros_like(offsets), first), first), maximum_iterations=max_windows - 1)
    starts = tf.where(count[:-1] > 0)[:, 0]
    stops = tf.gather(stops, starts)
    begins = tf.gather(tokens.row_splits, starts)
    return starts, stops, ragged.take(tokens.values, begins, tf.gather(tokens.row_splits, stops) - begins)


def pack_windows(tokenizer, first, second=None, *, max_seq_length, stride, max_windows, static_length=False):
    """Packs rows of tokens of any length as windows, each a model input; see `model_inputs.pack`.

    For pairs, the second text is split into windows, each after the first text. The first text is truncated as in
    `model_inputs.pack`: it keeps at least half of the room.

    Args:
      tokenizer: BertTokenizer.
      first, second: RaggedTensors int32 [B, (tokens)]; second is None for single texts.
      max_seq_length: int. Maximum number of tokens of a window, including [CLS] and [SEP]; at least 3, or 5 for pairs.
      stride, max_windows: See `split_into_windows`.
      static_length: See `model_inputs.pack`.

    Returns:
      Tuple `(features, rows, was_cut)`: dict of int32 [W, S]; int64 [W], the text of each window, ascending; bool [B],
      True for truncated texts.
    """
    room = max_seq_length - (2 if second is None else 3)
    if second is None:
        windows = split_into_windows(first, tf.fill([first.nrows()], tf.constant(room, tf.int64)), stride, max_windows)
        texts, was_cut = [windows.ids], windows.was_cut
    else:
        count_a = first.row_lengths()
        keep_a = count_first(count_a, second.row_lengths(), room)
        windows = split_into_windows(second, tf.maximum(room - keep_a, 1), stride, max_windows)
        # The kept part of the first text, repeated for each window.
        begins, lengths = (tf.gather(values, windows.rows) for values in (first.row_starts(), keep_a))
        texts = [ragged.take(first.values, begins, lengths), windows.ids]
        was_cut = windows.was_cut | (keep_a < count_a)
    features, _ = pack(tokenizer, *texts, max_seq_length=max_seq_length, static_length=static_length)
    return features, windows.rows, was_cut
