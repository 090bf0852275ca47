"""Model inputs: tokens of texts, with [CLS] and [SEP], as rows of one length.

Rows are padded to a fixed length or to the longest row. Long texts can be split into overlapping
windows.

Shape legend: B batch, WT windows of all texts, S sequence, (tokens) a ragged dimension.
"""

from typing import NamedTuple

import tensorflow as tf

from bert_tf.tokenization import ragged


def join_rows(tokenizer, first, second=None, *, max_seq_length, static_length=False):
    """Joins rows of tokens as [CLS] a [SEP] or [CLS] a [SEP] b [SEP].

    They are truncated as in `BertTokenizer.encode`.

    Args:
      tokenizer: BertTokenizer.
      first, second: RaggedTensors int32 [B, (tokens)]; second is None for single texts.
      max_seq_length: int. Maximum number of tokens per row, including [CLS] and [SEP].
      static_length: bool. If True, S is always max_seq_length; otherwise, the length of the longest
        row.

    Returns:
      Tuple `(features, was_cut)`: dict of "input_ids", "input_mask", "segment_ids", int32 [B, S];
      bool [B], True for truncated rows.
    """
    room = max_seq_length - (2 if second is None else 3)
    count_a = first.row_lengths()
    if second is None:
        keep_a = tf.minimum(count_a, room)
        was_cut = count_a > room
    else:
        count_b = second.row_lengths()
        keep_a = count_first(count_a, count_b, room)
        keep_b = tf.minimum(count_b, tf.maximum(room - keep_a, 0))
        was_cut = keep_a + keep_b < count_a + count_b
    # The sources of the rows: [CLS], [SEP], all first tokens, and all second tokens. Each part is a
    # start in them and a length.
    values = [tf.constant([tokenizer.cls_id, tokenizer.sep_id]), first.values]
    once = tf.ones_like(keep_a)
    after_first = 2 + tf.size(first.values, tf.int64)
    parts = [(0 * once, once), (2 + first.row_starts(), keep_a), (once, once)]
    in_first = 2 + keep_a
    if second is not None:
        values.append(second.values)
        parts += [(after_first + second.row_starts(), keep_b), (once, tf.minimum(keep_b, 1))]
    begins, lengths = (tf.stack(column, 1) for column in zip(*parts, strict=True))  # [B, parts]
    ids = ragged.take_slices(
        tf.concat(values, 0), tf.reshape(begins, [-1]), tf.reshape(lengths, [-1])
    ).values
    in_row = tf.reduce_sum(lengths, axis=1)
    ids = to_dense(
        ragged.split_by_lengths(ids, in_row),
        tokenizer.pad_id,
        max_seq_length if static_length else None,
    )
    column = tf.range(tf.shape(ids, tf.int64)[1])
    is_used = column < in_row[:, tf.newaxis]
    is_first = column < in_first[:, tf.newaxis]
    features = {
        "input_ids": ids,
        "input_mask": tf.cast(is_used, tf.int32),
        "segment_ids": tf.cast(is_used & ~is_first, tf.int32),
    }
    return features, was_cut


def count_first(count_a, count_b, room):
    """Computes the number of tokens of the first text in truncated pairs, int64 [B].

    `count_a` and `count_b` are the numbers of tokens of both texts, and `room` the maximum of their
    sum. Truncating the longer text leaves either the shorter one complete or half of the room to
    each. A second text without tokens has no [SEP], which leaves one more position to the first.
    """
    return tf.minimum(
        count_a, tf.where(count_b > 0, tf.maximum(room - count_b, room - room // 2), room + 1)
    )


def to_dense(rows, default, length=None):
    """Converts a RaggedTensor [B, (tokens)] to [B, S], padded with `default`.

    S is `length`; if that is None, the length of the longest row, but at least 1, since no model
    accepts a length of 0.
    """
    if length is None:
        columns = tf.maximum(tf.reduce_max(rows.row_lengths()), 1)
    else:
        columns = tf.constant(length, tf.int64)
    dense = rows.to_tensor(default, shape=tf.stack([-1, columns]))
    return tf.ensure_shape(dense, [None, length])


class Windows(NamedTuple):
    """Windows of texts; int64 [WT] except for `ids` and `was_cut`."""

    rows: tf.Tensor  # Text of each window.
    starts: tf.Tensor  # First token of each window, 0-based within its text.
    lengths: tf.Tensor  # Number of tokens of each window.
    ids: tf.RaggedTensor  # int32 [WT, (tokens)].
    was_cut: tf.Tensor  # bool [B]. Whether a text would need more windows than the maximum.


def split_into_windows(ids, room, doc_stride, max_windows):
    """Splits texts into overlapping Windows.

    `list_windows` of bert_tf.tasks.span_labeler.decoding does the same in NumPy. It describes the
    other arguments.

    Args:
      ids: RaggedTensor int32 [B, (tokens)].
      room: int64 [B].
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
    return Windows(
        rows, starts, lengths, ragged.take_slices(ids.values, begin, lengths), required > counts
    )


class WordWindows(NamedTuple):
    """Windows of words, in the order of the words; texts without words have no window."""

    starts: tf.Tensor  # int64 [WT]. First word of each window, counted over all texts.
    stops: tf.Tensor  # int64 [WT]. The word after its last one.
    ids: tf.RaggedTensor  # int32 [WT, (tokens)].


def split_between_words(words, tokens, room, max_windows):
    """Divides texts between words into WordWindows that are as full as possible.

    `list_word_windows` of bert_tf.tokenization.plain does the same in plain Python.

    Args:
      words: RaggedTensor [B, (words)] of any dtype.
      tokens: RaggedTensor int32 [all words, (tokens)]. Each word has at least one.
      room: int. Maximum number of tokens of a window. A word with more tokens has its own window.
      max_windows: int. Maximum number of windows of a text.
    """
    num_words = tokens.nrows()
    # The offsets are [all words + 1].
    offsets = tf.concat([[0], tf.cumsum(tf.minimum(tokens.row_lengths(), room))], 0)
    text_ends = tf.gather(words.row_splits, ragged.row_numbers(words) + 1)
    stops = tf.minimum(
        tf.searchsorted(offsets, offsets[:-1] + room, "right", tf.int64) - 1, text_ends
    )
    # The start of the next window for a window that starts at a word; `num_words` after the last
    # one of a text.
    following = tf.concat([tf.where(stops < text_ends, stops, num_words), [num_words]], 0)

    def mark(count, starts):
        return count + tf.math.unsorted_segment_sum(tf.ones_like(starts), starts, num_words + 1)

    def add_windows(count, starts):
        starts = tf.gather(following, starts)
        return mark(count, starts), starts

    first = words.row_starts()
    count, _ = tf.while_loop(
        lambda _, starts: tf.reduce_any(starts < num_words),
        add_windows,
        (mark(tf.zeros_like(offsets), first), first),
        maximum_iterations=max_windows - 1,
    )
    starts = tf.where(count[:-1] > 0)[:, 0]
    stops = tf.gather(stops, starts)
    begins = tf.gather(tokens.row_splits, starts)
    lengths = tf.gather(tokens.row_splits, stops) - begins
    return WordWindows(starts, stops, ragged.take_slices(tokens.values, begins, lengths))


class JoinedWindows(NamedTuple):
    """Windows of texts as model inputs."""

    features: dict[str, tf.Tensor]  # int32 [WT, S].
    rows: tf.Tensor  # int64 [WT]. Text of each window, ascending.
    was_cut: tf.Tensor  # bool [B]. True for truncated texts.


def join_windows(
    tokenizer, first, second=None, *, max_seq_length, stride, max_windows, static_length=False
):
    """Joins rows of tokens of any length as JoinedWindows.

    For pairs, the second text is split into windows, each after the first text, which keeps at
    least half of the room. `max_seq_length` is at least 3, or 5 for pairs. For the arguments, see
    `join_rows` and `split_into_windows`.
    """
    room = max_seq_length - (2 if second is None else 3)
    if second is None:
        windows = split_into_windows(
            first, tf.fill([first.nrows()], tf.constant(room, tf.int64)), stride, max_windows
        )
        texts = [windows.ids]
        was_cut = windows.was_cut
    else:
        count_a = first.row_lengths()
        keep_a = count_first(count_a, second.row_lengths(), room)
        windows = split_into_windows(second, tf.maximum(room - keep_a, 1), stride, max_windows)
        # The kept part of the first text is repeated for each window.
        begins, lengths = (
            tf.gather(values, windows.rows) for values in (first.row_starts(), keep_a)
        )
        texts = [ragged.take_slices(first.values, begins, lengths), windows.ids]
        was_cut = windows.was_cut | (keep_a < count_a)
    features, _ = join_rows(
        tokenizer, *texts, max_seq_length=max_seq_length, static_length=static_length
    )
    return JoinedWindows(features, windows.rows, was_cut)
