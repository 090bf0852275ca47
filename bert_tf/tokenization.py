"""The original's tokenization as TensorFlow graph ops: text -> WordPiece ids."""

import tensorflow as tf
import tensorflow_text as tf_text

_MAX_BYTES_PER_WORD = 800


class BertTokenizer(tf.Module):
    """Splits text into WordPiece ids. (first version: to be replaced by the exact one, same interface)"""

    def __init__(self, vocab_file, lower_case=True):
        super().__init__()
        self.vocab_file = vocab_file
        self.lower_case = lower_case
        with open(vocab_file, encoding="utf-8", newline="\n") as file:
            self.vocabulary = [line.strip() for line in file]
        self.vocab_size = len(self.vocabulary)
        ids = {piece: index for index, piece in enumerate(self.vocabulary)}
        self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id = (
            ids[piece] for piece in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"))
        self._tokenizer = tf_text.FastBertTokenizer(
            self.vocabulary, max_bytes_per_word=_MAX_BYTES_PER_WORD, token_out_type=tf.int32,
            lower_case_nfd_strip_accents=lower_case)
        self._pieces = tf.constant(self.vocabulary)

    def tokenize(self, texts):
        """[B] strings -> RaggedTensor int32 [B, (tokens)]."""
        return self._tokenizer.tokenize(tf.convert_to_tensor(texts))

    def convert_ids_to_tokens(self, ids):
        """int32 ids of any shape, ragged too -> the pieces' strings, of the same shape."""
        return tf.ragged.map_flat_values(tf.gather, self._pieces, ids)

    def encode(self, text_a, text_b=None, max_seq_length=128):
        """[B] strings, one or two a row -> {"input_ids","input_mask","segment_ids"}, int32 [B, S]."""
        first = self.tokenize(text_a)
        count_a = first.row_lengths()
        if text_b is None:
            first = self._cut(first, tf.minimum(count_a, max_seq_length - 2))
            rows = tf.concat([self._column(first, self.cls_id), first, self._column(first, self.sep_id)], 1)
            segments = tf.zeros_like(rows)
        else:
            second = self.tokenize(text_b)
            count_b = second.row_lengths()
            # Popping from the longer, ties from b, ends with the shorter whole or with both at half the room.
            room = tf.constant(max_seq_length - 3, tf.int64)
            keep_a = tf.minimum(count_a, tf.maximum(room - count_b, room - room // 2))
            keep_b = tf.minimum(count_b, room - keep_a)
            first, second = self._cut(first, keep_a), self._cut(second, keep_b)
            rows = tf.concat([self._column(first, self.cls_id), first, self._column(first, self.sep_id),
                              second, self._column(second, self.sep_id)], 1)
            positions = tf.ragged.range(rows.row_lengths())
            segments = tf.cast(positions >= tf.expand_dims(keep_a + 2, 1), tf.int32)
        shape = [None, max_seq_length]
        return {"input_ids": rows.to_tensor(self.pad_id, shape=shape),
                "input_mask": tf.ones_like(rows).to_tensor(0, shape=shape),
                "segment_ids": segments.to_tensor(0, shape=shape)}

    @staticmethod
    def _cut(rows, lengths):
        positions = tf.ragged.range(rows.row_lengths())
        return tf.ragged.boolean_mask(rows, positions < tf.expand_dims(lengths, 1))

    @staticmethod
    def _column(rows, value):
        return tf.fill([rows.nrows(), 1], tf.constant(value, tf.int32))
