"""Long texts in windows that overlap, in graph ops.

Legend: B texts, W windows of all of them, S sequence, (pieces) a ragged dimension.
"""

from typing import NamedTuple

import tensorflow as tf

from bert_tf.tokenization import ragged
from bert_tf.tokenization.model_inputs import pack


class Windows(NamedTuple):
    """Windows of texts; int64 [W] but for `ids`.

    Attributes:
      rows: the text of each.
      starts: the first piece of each, counted within its text.
      lengths: pieces of each.
      ids: RaggedTensor int32 [W, (pieces)].
      was_cut: bool [B], whether a text has more windows than it may.
    """

    rows: tf.Tensor
    starts: tf.Tensor
    lengths: tf.Tensor
    ids: tf.RaggedTensor
    was_cut: tf.Tensor


def cut_into_windows(ids, room, doc_stride, max_windows):
    """Cuts texts into windows that overlap, as the original's `convert_examples_to_features`.

    Args:
      ids: RaggedTensor int32 [B, (pieces)].
      room: int64 [B], pieces of a window.
      doc_stride: int, pieces between the starts of two windows; where a window is shorter, its length.
      max_windows: int, most windows of a text.

    Returns:
      Windows, at least one of each text.
    """
    total = ids.row_lengths()
    step = tf.minimum(room, doc_stride)
    wanted = 1 + (tf.maximum(total - room, 0) + step - 1) // step
    counts = tf.minimum(wanted, max_windows)
    numbers = tf.ragged.range(counts)
    rows = ragged.row_numbers(numbers)
    starts = numbers.values * tf.gather(step, rows)
    lengths = tf.minimum(tf.gather(room, rows), tf.gather(total, rows) - starts)
    begin = tf.gather(ids.row_starts(), rows) + starts
    return Windows(rows, starts, lengths, ragged.take(ids.values, begin, lengths), wanted > counts)


def pack_windows(tokenizer, first, second=None, *, max_seq_length, stride, max_windows, static_length=False):
    """Packs rows of pieces that may be too long as windows, each a model's input; see `model_inputs.pack`.

    Of a pair the second text is cut into windows, each beside the first, of which as much is kept as where a pair is
    cut: at least half the room.

    Args:
      tokenizer: BertTokenizer.
      first, second: RaggedTensors int32 [B, (pieces)]; second is None for single texts.
      max_seq_length: most pieces of a window, [CLS] and [SEP] included; at least 3, or 5 for pairs.
      stride, max_windows: as cut_into_windows's.
      static_length: as pack's.

    Returns:
      (features, rows, was_cut): dict of int32 [W, S]; int64 [W], the text of each window, in order; bool [B], True
      where pieces were left out.
    """
    room = max_seq_length - (2 if second is None else 3)
    if second is None:
        windows = cut_into_windows(first, tf.fill([first.nrows()], tf.constant(room, tf.int64)), stride, max_windows)
        texts, was_cut = [windows.ids], windows.was_cut
    else:
        count_a, count_b = first.row_lengths(), second.row_lengths()
        keep_a = tf.minimum(count_a, tf.where(count_b > 0, tf.maximum(room - count_b, room - room // 2), room + 1))
        windows = cut_into_windows(second, tf.maximum(room - keep_a, 1), stride, max_windows)
        # As much of the first text as is kept, again for each window.
        begins, lengths = (tf.gather(each, windows.rows) for each in (first.row_starts(), keep_a))
        texts = [ragged.take(first.values, begins, lengths), windows.ids]
        was_cut = windows.was_cut | (keep_a < count_a)
    features, _ = pack(tokenizer, *texts, max_seq_length=max_seq_length, static_length=static_length)
    return features, windows.rows, was_cut
