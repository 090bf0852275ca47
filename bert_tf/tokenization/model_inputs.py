"""Model inputs: tokens of texts, with [CLS] and [SEP], padded to a fixed length or to the longest row.

Legend: B texts, S sequence, (tokens) a ragged dimension.
"""

import tensorflow as tf

from bert_tf.tokenization import ragged

FEATURES = ("input_ids", "input_mask", "segment_ids")


def pack(tokenizer, first, second=None, *, max_seq_length, static_length=False):
    """Packs rows of tokens as [CLS] a [SEP] or [CLS] a [SEP] b [SEP], truncated as in `BertTokenizer.encode`.

    Args:
      tokenizer: BertTokenizer.
      first, second: RaggedTensors int32 [B, (tokens)]; second is None for single texts.
      max_seq_length: int. Maximum number of tokens per row, including [CLS] and [SEP].
      static_length: bool. If True, S is always max_seq_length; otherwise, the length of the longest row.

    Returns:
      Tuple `(features, was_cut)`: dict of "input_ids", "input_mask", "segment_ids", int32 [B, S]; bool [B], True for
      truncated rows.
    """
    room = max_seq_length - (2 if second is None else 3)
    count_a = first.row_lengths()
    if second is None:
        keep_a, was_cut = tf.minimum(count_a, room), count_a > room
    else:
        count_b = second.row_lengths()
        keep_a = count_first(count_a, count_b, room)
        keep_b = tf.minimum(count_b, tf.maximum(room - keep_a, 0))
        was_cut = keep_a + keep_b < count_a + count_b
    # The sources of the rows: [CLS], [SEP], all first tokens, and all second tokens. Each part is a start in them and a
    # length.
    values = [tf.constant([tokenizer.cls_id, tokenizer.sep_id]), first.values]
    once, after_first = tf.ones_like(keep_a), 2 + tf.size(first.values, tf.int64)
    parts = [(0 * once, once), (2 + first.row_starts(), keep_a), (once, once)]
    in_first = 2 + keep_a
    if second is not None:
        values.append(second.values)
        parts += [(after_first + second.row_starts(), keep_b), (once, tf.minimum(keep_b, 1))]
    begins, lengths = (tf.stack(column, 1) for column in zip(*parts, strict=True))  # [B, parts]
    ids = ragged.take(tf.concat(values, 0), tf.reshape(begins, [-1]), tf.reshape(lengths, [-1])).values
    in_row = tf.reduce_sum(lengths, axis=1)
    ids = to_dense(ragged.split_by_lengths(ids, in_row), tokenizer.pad_id, max_seq_length if static_length else None)
    column = tf.range(tf.shape(ids, tf.int64)[1])
    is_used, is_first = column < in_row[:, tf.newaxis], column < in_first[:, tf.newaxis]
    return {"input_ids": ids, "input_mask": tf.cast(is_used, tf.int32),
            "segment_ids": tf.cast(is_used & ~is_first, tf.int32)}, was_cut


def count_first(count_a, count_b, room):
    """Computes the number of tokens of the first text in truncated pairs, int64 [B], from those of both texts.

    Truncating the longer text leaves either the shorter one complete or half of the `room` to each. A second text
    without tokens has no [SEP], which leaves one more position to the first.
    """
    return tf.minimum(count_a, tf.where(count_b > 0, tf.maximum(room - count_b, room - room // 2), room + 1))


def to_dense(rows, default, length=None):
    """Converts a RaggedTensor [B, (N)] to [B, S], padded with `default`.

    S is `length`; if that is None, the length of the longest row, but at least 1, since no model accepts a length of 0.
    """
    columns = tf.maximum(tf.reduce_max(rows.row_lengths()), 1) if length is None else tf.constant(length, tf.int64)
    dense = rows.to_tensor(default, shape=tf.stack([-1, columns]))
    return tf.ensure_shape(dense, [None, length])
