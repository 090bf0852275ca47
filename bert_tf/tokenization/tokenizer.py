"""The tokenizer, which converts texts to the original's WordPiece IDs and back.

It runs in C++ and inside a SavedModel. It follows `FullTokenizer` of google-research/bert's
tokenization.py and the rows of its `convert_single_example`, and uses the tables of Unicode 14.0
on every Python.

Shape legend: B batch, S sequence, (tokens) a ragged dimension.
"""

from typing import NamedTuple

import tensorflow as tf

from bert_tf.checkpoints.directory import ModelDirectory
from bert_tf.checkpoints.task_metadata import DEFAULTS
from bert_tf.errors import InputError
from bert_tf.tokenization import model_inputs
from bert_tf.tokenization.added_tokens import extend_vocabulary, to_added_tokens
from bert_tf.tokenization.ragged import characters_before
from bert_tf.tokenization.token_files import read_added_tokens
from bert_tf.tokenization.vocabulary import (
    SPECIAL_PIECES,
    check_casing,
    count_ids,
    get_source,
    index_tokens,
    read_vocabulary,
)
from bert_tf.tokenization.wordpiece import WordPieceTokenizer


class TokensWithOffsets(NamedTuple):
    """Tokens and their sources; each a RaggedTensor int32 [B, (tokens)].

    A token comes from the half-open span [start, end) of its text, in bytes and in characters.
    Spans contain whole characters of the original text, including the following ones that
    normalization drops, such as combining accents. Tokens from the same character, such as a Hangul
    syllable, have the same span.
    """

    ids: tf.RaggedTensor
    byte_starts: tf.RaggedTensor
    byte_ends: tf.RaggedTensor
    char_starts: tf.RaggedTensor
    char_ends: tf.RaggedTensor


class BertTokenizer(tf.Module):
    """Converts text to WordPiece IDs and back.

    All methods that take tensors work eagerly, in `tf.data`, under `tf.function`, and in a
    SavedModel, which requires only tensorflow_text to load. Invalid UTF-8 bytes are dropped, as in
    the original, which decodes with errors="ignore". "[MASK]" in a text is three ordinary words, as
    in the original.

    Attributes:
      vocab_file: str. Path of the vocabulary file.
      lower_case: bool. Whether text is lowercased.
      strip_accents: bool. Whether accents are removed from text.
      vocabulary: List of str. Token of each ID, including added tokens; see
        `vocabulary.read_vocabulary`.
      base_vocabulary: List of str. The vocabulary without added tokens.
      added_tokens: Tuple of AddedToken.
      vocab_size: int. Number of IDs that a model requires; see `vocabulary.count_ids`.
      pad_id, unk_id, cls_id, sep_id, mask_id: int. IDs of the special tokens.
    """

    def __init__(self, vocab_file, lower_case=True, strip_accents=None, added_tokens=()):
        """Reads the vocabulary and builds the models of the kernels.

        This takes about a third of a second.

        Args:
          vocab_file: str. Path of a file for `vocabulary.read_vocabulary`.
          lower_case: bool. The original's do_lower_case; True for uncased models.
          strip_accents: bool. Whether to remove accents; None, as in the original, for
            `lower_case`. If it differs from `lower_case`, both rules are applied per character, as
            in Hugging Face's BertNormalizer (any Σ becomes σ); all other rules are the original's.
          added_tokens: Iterable of str or AddedToken. Tokens that are not split, such as
            entity markers, as `tokenizer.add_tokens` of transformers. A str has the flags of
            transformers' default, and its ID in the vocabulary or the next one after it.

        Raises:
          InputError: If the vocabulary is invalid, with file and line, or if an added token has
            another ID.
          OSError: If it cannot be read.
        """
        super().__init__()
        self.vocab_file = vocab_file
        self.lower_case = bool(lower_case)
        self.strip_accents = self.lower_case if strip_accents is None else bool(strip_accents)
        base = read_vocabulary(vocab_file)
        added_tokens = to_added_tokens(added_tokens, base)
        pieces = extend_vocabulary(base, added_tokens)
        # As attributes of a tf.Module, they would be wrapped and tracked.
        self._vocabulary = lambda: pieces
        self._base_vocabulary = lambda: base
        self._added_tokens = lambda: added_tokens
        self.vocab_size = count_ids(pieces)
        self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id = map(
            index_tokens(pieces).get, SPECIAL_PIECES
        )
        self._wordpiece = WordPieceTokenizer(
            base, self.lower_case, self.strip_accents, added_tokens
        )
        with tf.init_scope():
            self._piece_table = tf.constant(pieces)

    @classmethod
    def from_pretrained(cls, path, *, lower_case=None, strip_accents=None):
        """Creates the tokenizer of a model.

        Args:
          path: str or os.PathLike. See `BertEncoder.from_pretrained`; weights are not required.
          lower_case, strip_accents: bool; None for the casing next to the model, otherwise as in
            the constructor.

        Raises:
          InputError: If there is no vocabulary, if this project does not support the tokenizer, or
            if the casing contradicts the name of the directory.
        """
        directory = ModelDirectory.open(path, "path")
        found = directory.tokenizer
        if found.vocab_file is None:
            raise InputError(
                f"{directory.path}: there is no vocab.txt or tokenizer.json next to this path"
            )
        if lower_case is None:
            lower_case = (
                DEFAULTS["do_lower_case"] if found.do_lower_case is None else found.do_lower_case
            )
        if strip_accents is None and lower_case == found.do_lower_case:
            strip_accents = found.strip_accents
        check_casing(lower_case, directory.path)
        return cls(directory.vocab_txt, lower_case, strip_accents, directory.added_tokens)

    @property
    def vocabulary(self):
        """The tokens in the order of their IDs, with the added ones."""
        return self._vocabulary()

    @property
    def base_vocabulary(self):
        """The tokens in the order of their IDs, without the added ones."""
        return self._base_vocabulary()

    @property
    def added_tokens(self):
        """The AddedTokens."""
        return self._added_tokens()

    def tokenize(self, texts):
        """Splits texts into tokens.

        Args:
          texts: string [B].

        Returns:
          RaggedTensor int32 [B, (tokens)], without [CLS] and [SEP].
        """
        return self._wordpiece.ids(_to_texts(texts))

    def tokenize_with_offsets(self, texts):
        """Splits texts into tokens and finds the source of each in the text.

        Character offsets refer to `text.decode("utf-8", "ignore")`, so that they index a Python
        str; byte offsets refer to all bytes of the text.

        Args:
          texts: string [B].

        Returns:
          TokensWithOffsets, with the IDs of `tokenize`.
        """
        texts = _to_texts(texts)
        tokens = self._wordpiece.ids_and_spans(texts)
        return TokensWithOffsets(
            tokens.ids,
            tf.cast(tokens.starts, tf.int32),
            tf.cast(tokens.ends, tf.int32),
            *characters_before(texts, [tokens.starts, tokens.ends]),
        )

    def encode(self, text_a, text_b=None, max_seq_length=128):
        """Joins one or two texts per row: [CLS] a [SEP] or [CLS] a [SEP] b [SEP].

        Rows are truncated or padded to one length. Pairs that are too long lose tokens from the end
        of the longer text, or of b if both are equally long (the original's `_truncate_seq_pair`).
        A row whose b has no tokens is the same as a single text.

        Args:
          text_a: string [B].
          text_b: string [B] or None.
          max_seq_length: int, S; at least 2, or 3 for pairs.

        Returns:
          Dict of int32 [B, S]: "input_ids"; "input_mask", 1 for tokens and 0 for padding;
          "segment_ids", 1 for b and the [SEP] after it, otherwise 0.

        Raises:
          InputError: If max_seq_length is too small for the special tokens.
        """
        room = max_seq_length - (2 if text_b is None else 3)
        if room < 0:
            raise InputError(
                f"must be at least {max_seq_length - room}, for [CLS] and [SEP]",
                "max_seq_length",
                max_seq_length,
            )
        second = None if text_b is None else self.tokenize(text_b)
        features, _ = model_inputs.join_rows(
            self, self.tokenize(text_a), second, max_seq_length=max_seq_length, static_length=True
        )
        return features

    def convert_ids_to_tokens(self, ids):
        """Converts IDs to tokens, string [...].

        Args:
          ids: int [...]. Tensor or RaggedTensor of IDs in [0, vocab_size).
        """
        return tf.ragged.map_flat_values(lambda flat: tf.gather(self._piece_table, flat), ids)


def read_tokenizer(
    vocab_file, do_lower_case, init_checkpoint, config, strip_accents=None, *, added_tokens=None
):
    """Creates the BertTokenizer of a vocabulary file.

    Args:
      vocab_file, do_lower_case, strip_accents: See BertTokenizer.
      init_checkpoint: Checkpoint whose name can imply the casing, or None.
      config: BertConfig, whose vocab_size limits the vocabulary.
      added_tokens: AddedTokens; None for those in the directory of the vocabulary.

    Raises:
      InputError: If the vocabulary cannot be read, or if the checkpoint or the config contradict
        it.
    """
    check_casing(do_lower_case, init_checkpoint)
    if added_tokens is None:
        added_tokens = read_added_tokens(vocab_file)
    tokenizer = BertTokenizer(vocab_file, do_lower_case, strip_accents, added_tokens)
    if tokenizer.vocab_size > config.vocab_size:
        raise InputError(
            f"has {tokenizer.vocab_size} entries, but the model has only {config.vocab_size} "
            "(vocab_size of the BERT config); set the vocabulary of this model",
            "vocab_file",
            get_source(vocab_file),
        )
    return tokenizer


def _to_texts(texts):
    try:
        texts = tf.convert_to_tensor(texts, tf.string)
    except (TypeError, ValueError) as error:
        raise InputError("texts must be strings, a list or a tensor of them") from error
    if texts.shape.rank not in (None, 1):
        raise InputError(f"texts must be a vector of strings, but have the shape {texts.shape}")
    # A graph can be called with any shape, whatever it declares; a scalar would end the process in
    # a kernel.
    return texts if tf.executing_eagerly() else tf.ensure_shape(texts, [None])
