"""A model's inputs: pieces of texts, with [CLS] and [SEP], padded to one length or to the longest row.

Legend: B texts, S sequence, (pieces) a ragged dimension.
"""

import tensorflow as tf

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
    column = tf.ones([first.nrows(), 1], tf.int32)
    if second is None:
        texts, counts = [first[:, :room]], first.row_lengths()
    else:
        count_a, count_b = first.row_lengths(), second.row_lengths()
        # Taking from the longer ends either with the shorter whole or with both at half the room. A second text
        # without a piece has no [SEP], and leaves its place to the first.
        keep_a = tf.minimum(count_a, tf.where(count_b > 0, tf.maximum(room - count_b, room - room // 2), room + 1))
        keep_b = tf.minimum(count_b, tf.maximum(room - keep_a, 0))
        texts, counts = [first_pieces(first, keep_a), first_pieces(second, keep_b)], count_a + count_b
    rows, segments = [tokenizer.cls_id * column], [0 * column]
    for segment, ids in enumerate(texts):
        separator = tokenizer.sep_id * (column if segment == 0 else tf.ones_like(ids)[:, :1])
        rows += [ids, separator]
        segments += [segment * tf.ones_like(ids), segment * tf.ones_like(separator)]
    rows, segments = tf.concat(rows, 1), tf.concat(segments, 1)
    static = max_seq_length if static_length else None
    features = {"input_ids": to_dense(rows, tokenizer.pad_id, static),
                "input_mask": to_dense(tf.ones_like(rows), 0, static),
                "segment_ids": to_dense(segments, 0, static)}
    return features, sum(text.row_lengths() for text in texts) < counts


def first_pieces(rows, lengths):
    """RaggedTensor [B, (N)], int64 [B] -> the first `lengths` elements of each row."""
    return tf.ragged.boolean_mask(rows, tf.ragged.range(rows.row_lengths()) < lengths[:, tf.newaxis])


def to_dense(rows, default, length=None):
    """RaggedTensor [B, (N)] -> [B, S], padded with `default`.

    S is `length`, or the longest row's where that is None, and then at least 1: no model takes a width of 0.
    """
    columns = tf.maximum(rows.bounding_shape(1), 1) if length is None else tf.constant(length, tf.int64)
    dense = rows.to_tensor(default, shape=tf.stack([-1, columns]))
    return tf.ensure_shape(dense, [None, length])
