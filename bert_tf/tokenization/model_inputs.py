"""A model's inputs: pieces of texts, with [CLS] and [SEP], padded to one length or to the longest row.

Legend: B texts, S sequence, (pieces) a ragged dimension.
"""

import tensorflow as tf

from bert_tf.tokenization import ragged

FEATURES = ("input_ids", "input_mask", "segment_ids")


def pack(tokenizer, first, second=None, *, max_seq_length, static_length=False):
    """Packs one or two rows of pieces: [CLS] a [SEP] or [CLS] a [SEP] b [SEP], cut as `BertTokenizer.encode` says.

    Args:
      tokenizer: BertTokenizer.
      first, second: RaggedTensors int32 [B, (pieces)]; second is None for single texts.
      max_seq_length: most pieces of a row, [CLS] and [SEP] included.
      static_length: whether S is max_seq_length always, else it is the longest row's.

    Returns:
      (features, was_cut): dict of "input_ids", "input_mask", "segment_ids", int32 [B, S]; bool [B], True where pieces
      were left out.
    """
    room = max_seq_length - (2 if second is None else 3)
    count_a = first.row_lengths()
    if second is None:
        keep_a, was_cut = tf.minimum(count_a, room), count_a > room
    else:
        count_b = second.row_lengths()
        # Taking from the longer ends either with the shorter whole or with both at half the room. A second text
        # without a piece has no [SEP], and leaves its place to the first.
        keep_a = tf.minimum(count_a, tf.where(count_b > 0, tf.maximum(room - count_b, room - room // 2), room + 1))
        keep_b = tf.minimum(count_b, tf.maximum(room - keep_a, 0))
        was_cut = keep_a + keep_b < count_a + count_b
    # What rows are made of: [CLS], [SEP], all first and all second pieces. Each part is where it begins there, and how
    # many there are of it.
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
    ids = to_dense(ragged.of_lengths(ids, in_row), tokenizer.pad_id, max_seq_length if static_length else None)
    column = tf.range(tf.shape(ids, tf.int64)[1])
    is_used, is_first = column < in_row[:, tf.newaxis], column < in_first[:, tf.newaxis]
    return {"input_ids": ids, "input_mask": tf.cast(is_used, tf.int32),
            "segment_ids": tf.cast(is_used & ~is_first, tf.int32)}, was_cut


def to_dense(rows, default, length=None):
    """RaggedTensor [B, (N)] -> [B, S], padded with `default`.

    S is `length`, or the longest row's where that is None, and then at least 1: no model takes a width of 0.
    """
    columns = tf.maximum(tf.reduce_max(rows.row_lengths()), 1) if length is None else tf.constant(length, tf.int64)
    dense = rows.to_tensor(default, shape=tf.stack([-1, columns]))
    return tf.ensure_shape(dense, [None, length])
