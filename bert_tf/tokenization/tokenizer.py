"""The tokenizer: texts to WordPiece ids and back, the same ids as the original's, in C++ and inside a SavedModel.

Follows `FullTokenizer` of google-research/bert's tokenization.py and the packing of its `convert_single_example`.
Unicode tables are those of the Python that builds the tokenizer, `UNICODE_VERSION`; a SavedModel keeps them.

Legend: B texts, S sequence, (pieces) a ragged dimension.
"""

import functools
from typing import NamedTuple

import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.tokenization import model_inputs, windows
from bert_tf.tokenization.offsets import characters_before
from bert_tf.tokenization.unicode_rules import UNICODE_VERSION
from bert_tf.tokenization.vocabulary import SUFFIX_INDICATOR, check_casing, read_vocabulary
from bert_tf.tokenization.wordpiece import WordPieceTokenizer

__all__ = ["UNICODE_VERSION", "BertTokenizer", "TokensWithOffsets", "check_casing"]


class TokensWithOffsets(NamedTuple):
    """Pieces and where they come from; each a RaggedTensor int32 [B, (pieces)].

    A piece comes from the half-open span [start, end) of its text, counted in bytes and in characters. A span
    holds whole characters, as they stand in the text, together with those right after them that normalisation
    drops, such as combining accents. Pieces out of one character, as of a Hangul syllable, have the same span.
    """

    ids: tf.RaggedTensor
    byte_starts: tf.RaggedTensor
    byte_ends: tf.RaggedTensor
    char_starts: tf.RaggedTensor
    char_ends: tf.RaggedTensor


class BertTokenizer(tf.Module):
    """Turns text into WordPiece ids and back.

    All methods that take tensors work eagerly, in `tf.data`, under `tf.function` and in a SavedModel, which
    needs tensorflow_text and nothing of ours to load. Bytes that are not UTF-8 are dropped, as by the original,
    which decodes with errors="ignore". "[MASK]" in a text is three ordinary words, as for the original.

    Attributes:
      vocab_file: path the vocabulary was read from.
      lower_case: whether text is lower-cased.
      strip_accents: whether text is stripped of accents.
      vocabulary: list of str, the piece of each id.
      vocab_size: number of pieces.
      pad_id, unk_id, cls_id, sep_id, mask_id: int, ids of the special pieces.
    """

    def __init__(self, vocab_file, lower_case=True, strip_accents=None):
        """Reads the vocabulary and builds the models of the kernels, which takes about a third of a second.

        Args:
          vocab_file: a file as `vocabulary.read_vocabulary` wants it.
          lower_case: the original's do_lower_case; True for uncased models.
          strip_accents: whether accents go; None, the original's rule, is as `lower_case`. Where it differs,
            lower-casing and stripping are those of Hugging Face's BertNormalizer, a character at a time (any Σ becomes
            σ), and all else stays the original's.

        Raises:
          InputError: if the vocabulary is faulty, naming file and line.
          OSError: if it cannot be read.
        """
        super().__init__()
        self.vocab_file = vocab_file
        self.lower_case = bool(lower_case)
        self.strip_accents = self.lower_case if strip_accents is None else bool(strip_accents)
        pieces = read_vocabulary(vocab_file)
        self._vocabulary = lambda: pieces  # a list attribute of a tf.Module would be wrapped and tracked
        self.vocab_size = len(pieces)
        self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id = map(
            pieces.index, ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"))
        self._wordpiece = WordPieceTokenizer(pieces, "[UNK]", self.lower_case, self.strip_accents)
        with tf.init_scope():
            self._piece_table = tf.constant(pieces)

    def __reduce__(self):
        return BertTokenizer, (self.vocab_file, self.lower_case, self.strip_accents)

    @property
    def vocabulary(self):
        return self._vocabulary()

    def tokenize(self, texts):
        """Splits texts into pieces.

        Args:
          texts: string [B].

        Returns:
          RaggedTensor int32 [B, (pieces)], without [CLS] and [SEP].
        """
        return self._wordpiece.ids(_as_texts(texts))

    def tokenize_with_offsets(self, texts):
        """Splits texts into pieces and says where in the text each comes from.

        Character offsets count the characters of `text.decode("utf-8", "ignore")`, so that they index a Python str;
        byte offsets count all bytes of the text.

        Args:
          texts: string [B].

        Returns:
          TokensWithOffsets; its ids are those of `tokenize`.
        """
        texts = _as_texts(texts)
        ids, starts, ends = self._wordpiece.ids_and_spans(texts)
        return TokensWithOffsets(ids, tf.cast(starts, tf.int32), tf.cast(ends, tf.int32),
                                 *characters_before(texts, [starts, ends]))

    def encode(self, text_a, text_b=None, max_seq_length=128):
        """Packs one or two texts a row: [CLS] a [SEP] or [CLS] a [SEP] b [SEP], cut and padded to one length.

        Pairs that are too long lose pieces from the end of the longer text, from b if both are as long (the
        original's `_truncate_seq_pair`); a single text is cut. A row whose b has no piece is packed as a single text.

        Args:
          text_a: string [B].
          text_b: string [B] or None.
          max_seq_length: int, S; at least 2, or 3 for pairs.

        Returns:
          Dict of int32 [B, S]: "input_ids"; "input_mask", 1 where there is a piece and 0 where padding;
          "segment_ids", 1 for b and the [SEP] after it, 0 elsewhere.

        Raises:
          InputError: if max_seq_length leaves no room for the special pieces.
        """
        room = max_seq_length - (2 if text_b is None else 3)
        if room < 0:
            raise InputError(f"`max_seq_length`={max_seq_length}: it must be at least {max_seq_length - room}, for "
                             "[CLS] and [SEP]")
        second = None if text_b is None else self.tokenize(text_b)
        features, _ = model_inputs.pack(self, self.tokenize(text_a), second, max_seq_length=max_seq_length,
                                        static_length=True)
        return features

    def encode_windows(self, text_a, text_b=None, *, max_seq_length, stride, max_windows):
        """Packs texts of any length as `encode` does, those that are too long in windows that overlap.

        Args:
          text_a, text_b: string [B]; the second may be None. Of a pair it is the text that is cut into windows.
          max_seq_length: int, S; at least 3, or 5 for pairs.
          stride: int, pieces between the starts of two windows of a text.
          max_windows: int, most windows of a text.

        Returns:
          (features, rows, was_cut): dict as `encode`'s, of int32 [W, S], W windows; int64 [W], the text of each, in
          order; bool [B], whether pieces of a text are in none of its windows.
        """
        second = None if text_b is None else self.tokenize(text_b)
        return windows.pack_windows(self, self.tokenize(text_a), second, max_seq_length=max_seq_length, stride=stride,
                                    max_windows=max_windows, static_length=True)

    def convert_ids_to_tokens(self, ids):
        """ids: int tensor or RaggedTensor of any shape, each in [0, vocab_size) -> the pieces, string, same shape."""
        return tf.ragged.map_flat_values(lambda flat: tf.gather(self._piece_table, flat), _as_ids(ids))

    def decode(self, ids):
        """Joins pieces into words with single spaces between them.

        What normalisation and splitting changed stays so: lower case, no accents, punctuation set apart.

        Args:
          ids: int tensor [B, S] or RaggedTensor [B, (pieces)]; [PAD], [CLS] and [SEP] are left out.

        Returns:
          string [B].
        """
        ids = _as_ids(ids)
        if not isinstance(ids, tf.RaggedTensor):
            ids = tf.RaggedTensor.from_tensor(ids)
        silent = functools.reduce(tf.logical_or, [ids.values == id_ for id_ in (self.pad_id, self.cls_id, self.sep_id)])
        pieces = self.convert_ids_to_tokens(tf.ragged.boolean_mask(ids, ids.with_values(~silent)))
        text = tf.strings.reduce_join(pieces, axis=1, separator=" ")
        return tf.strings.regex_replace(text, rf" {SUFFIX_INDICATOR}(\S)", r"\1")


def _as_texts(texts):
    texts = tf.convert_to_tensor(texts, tf.string)
    if texts.shape.rank != 1:
        raise InputError(f"texts have the shape {texts.shape}: a vector of strings is needed, one text an element")
    return texts


def _as_ids(ids):
    return ids if isinstance(ids, tf.RaggedTensor) else tf.convert_to_tensor(ids)
