"""The tokenizer in plain Python, for processes without TensorFlow.

Its words, IDs, and spans are the same as in BertTokenizer. The kernels of BertTokenizer process
many texts at a time; this one processes one text and is ready immediately. It applies the rules of
`BasicTokenizer` in the original's tokenization.py, once per distinct string between spaces, and
texts have few of these; tests compare the results with the graph. `join_ids` is
`model_inputs.join_rows` for one row.
"""

import bisect
import functools
import itertools
from typing import NamedTuple

import numpy as np

from bert_tf.tokenization.added_tokens import (
    TokenFinder,
    extend_vocabulary,
    index_contents,
    to_added_tokens,
)
from bert_tf.tokenization.unicode_rules import (
    is_cjk,
    is_dropped,
    is_punctuation,
    is_whitespace,
    is_word_character,
    lower,
    normalize_character,
    remove_accents,
)
from bert_tf.tokenization.vocabulary import SPECIAL_PIECES, SUFFIX_INDICATOR, index_tokens

# max_input_chars_per_word of the original's WordpieceTokenizer: longer words are [UNK] in any
# vocabulary.
MAX_WORD_CHARACTERS = 200

# `BasicTokenizer` deletes control characters before it splits on white space, but str.split()
# treats these as white space. Therefore, they are deleted first.
CONTROLS_THAT_SPLIT = "\x0b\x0c\x1c\x1d\x1e\x1f\x85"

CACHED_CHUNKS = 1 << 17  # Words of strings between spaces, about 40 MB per process.
CACHED_IDS = 1 << 15  # The IDs of these strings, about 10 MB per tokenizer.

_normalize_character = functools.cache(normalize_character)


def split_text(text, lower_case, strip_accents=None):
    """Splits a text into words, a list of str, as in the original's `BasicTokenizer.tokenize`.

    For the casing, see BertTokenizer; `strip_accents` defaults to `lower_case`.
    """
    strip_accents = lower_case if strip_accents is None else strip_accents
    return [
        word for chunk in chunks(text) for word in split_chunk(chunk, lower_case, strip_accents)
    ]


def chunks(text):
    """Splits a str by white space into a list of str; no word spans two of them."""
    for control in CONTROLS_THAT_SPLIT:
        text = text.replace(control, "")
    return text.split()


@functools.lru_cache(maxsize=CACHED_CHUNKS)
def split_chunk(chunk, lower_case, strip_accents):
    """Splits text without white space into words, a tuple of str."""
    if chunk.isascii() and chunk.isalnum():
        return (chunk.lower() if lower_case else chunk,)
    words = []
    for token in "".join(map(_clean_character, chunk)).split():
        words += "".join(
            f" {character} " if is_punctuation(character) else character
            for character in _normalize_word(token, lower_case, strip_accents)
        ).split()
    return tuple(words)


def _normalize_word(word, lower_case, strip_accents):
    if lower_case:  # If accents stay, BertTokenizer lowercases each character separately.
        word = lower(word) if strip_accents else "".join(map(str.lower, word))
    return remove_accents(word) if strip_accents else word


@functools.cache
def _clean_character(character):
    if is_dropped(character):
        return ""
    return f" {character} " if is_cjk(character) else character


class TokenSpans(NamedTuple):
    """Tokens of a text, or of a batch of texts, and their sources.

    A token comes from the half-open span [start, end) of its text. Spans contain whole characters,
    including the following ones that normalization drops.
    """

    ids: list
    starts: list
    ends: list


class _AddedTokenError(Exception):
    """A text can contain an added token."""


class PlainTokenizer:
    """Converts text to WordPiece IDs.

    "[MASK]" in a text is three ordinary words, as in the original.

    Attributes:
      vocabulary: List of str. Token of each ID, including added tokens.
      pad_id, unk_id, cls_id, sep_id, mask_id: int. IDs of the special tokens.
    """

    def __init__(self, vocabulary, lower_case=True, strip_accents=None, added_tokens=()):
        """Creates a tokenizer.

        Args:
          vocabulary: List of str, from `read_vocabulary`.
          lower_case, strip_accents, added_tokens: See BertTokenizer.
        """
        added_tokens = to_added_tokens(added_tokens, vocabulary)
        self.vocabulary = extend_vocabulary(vocabulary, added_tokens)
        self._ids = index_tokens(vocabulary)
        self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id = map(
            self._ids.__getitem__, SPECIAL_PIECES
        )
        self._lower_case = bool(lower_case)
        self._strip_accents = self._lower_case if strip_accents is None else bool(strip_accents)
        self._max_entry_length = max(map(len, vocabulary))
        self._ids_of_chunk = functools.lru_cache(CACHED_IDS)(self._tokenize_chunk)
        contents = index_contents(added_tokens, self._normalize_to_find)
        self._in_text = TokenFinder(contents[False], is_word_character)
        # Normalization puts spaces around CJK characters.
        self._in_normalized = TokenFinder(
            contents[True], lambda character: is_word_character(character) and not is_cjk(character)
        )
        self._words_of_chunk = self._split_chunk
        if added_tokens:
            self._words_of_chunk = functools.lru_cache(CACHED_IDS)(self._split_ordinary_chunk)

    def ids(self, text):
        """Tokenizes a str; returns a list of int, without [CLS] and [SEP]."""
        try:
            return [id_ for chunk in chunks(text) for id_ in self._ids_of_chunk(chunk)]
        except _AddedTokenError:
            return self._tokenize_with_added_tokens(text).ids

    def ids_and_spans(self, text):
        """Tokenizes a text and finds the source of each token.

        Args:
          text: str.

        Returns:
          TokenSpans of lists of int, in characters.
        """
        try:
            words = [word for chunk in chunks(text) for word in self._words_of_chunk(chunk)]
        except _AddedTokenError:
            return self._tokenize_with_added_tokens(text)
        spans = TokenSpans([], [], [])
        sources = self._list_sources(text, space="")
        spaces = [position for position, character in enumerate(text) if is_whitespace(character)]
        following = [*sorted({*sources, *spaces}), len(text)]
        self._append_pieces(spans, words, sources, following)
        return spans

    def _tokenize_with_added_tokens(self, text):
        """Tokenizes a text that can contain added tokens; see `ids_and_spans`."""
        spans = TokenSpans([], [], [])
        for part in self._in_text.split(text):
            found = self._tokenize_part(text[part.start : part.end])
            spans.ids.extend(found.ids)
            spans.starts.extend(part.start + start for start in found.starts)
            spans.ends.extend(part.start + end for end in found.ends)
            if part.token:
                _append(spans, part.token.id, part.token_start, part.token_end)
        return spans

    def _tokenize_part(self, text):
        """Tokenizes a text without added tokens, except normalized ones; see `ids_and_spans`."""
        spans = TokenSpans([], [], [])
        normalized = self._normalize(text)
        sources = self._list_sources(text, space=" ")
        following = [*sorted(set(sources)), len(text)]
        offsets = list(itertools.accumulate(map(len, map(str.encode, normalized)), initial=0))
        for part in self._in_normalized.split(self._normalize_to_find(text)):
            between = normalized[part.start : part.end]
            between_sources = sources[offsets[part.start] : offsets[part.end]]
            self._append_pieces(
                spans,
                split_text(between, False),
                [
                    source
                    for source, byte in zip(between_sources, between.encode(), strict=True)
                    if byte != ord(" ")
                ],
                following,
            )
            if part.token:
                last = sources[offsets[part.token_end] - 1]
                end = following[bisect.bisect_right(following, last)]
                _append(spans, part.token.id, sources[offsets[part.token_start]], end)
        return spans

    def _append_pieces(self, spans, words, sources, following):
        """Adds the tokens of normalized words.

        Args:
          spans: TokenSpans to add them to.
          words: List of str.
          sources: List of int. Position in the text that each byte of the words comes from.
          following: Ascending list of int. Positions at which a span can end.
        """
        ids, starts, ends = spans
        first_byte = 0
        for word in words:
            offsets = list(
                itertools.accumulate((len(part.encode()) for part in word), initial=first_byte)
            )
            for id_, begin, end in self._pieces(word):
                ids.append(id_)
                starts.append(sources[offsets[begin]])
                # A token can end in the middle of a character's output: the span ends at the next
                # character.
                ends.append(following[bisect.bisect_right(following, sources[offsets[end] - 1])])
            first_byte = offsets[-1]

    def _normalize(self, text):
        """Returns the words of a text, not yet split at punctuation, with " " for white space."""
        cleaned = "".join(
            " " if is_whitespace(character) else character
            for character in text
            if not is_dropped(character)
        )
        casing = self._lower_case, self._strip_accents
        return " ".join(_normalize_word(word, *casing) for word in cleaned.split(" "))

    def _normalize_to_find(self, text):
        """Normalizes a text as Hugging Face's BertNormalizer, without spaces around characters.

        It has as many characters as the result of `_normalize`.
        """
        return self._normalize(text.replace("Σ", "σ") if self._lower_case else text)

    def _list_sources(self, text, space):
        """Returns the position in a text that each byte of the normalized text comes from.

        `space`: Text that each white space contributes to the normalized text.
        """
        # NFD can sort the marks of several sources; the graph sorts their bytes as well, but not
        # their sources, so a mark of four bytes can have two.
        casing = self._lower_case, self._strip_accents
        if not space:
            return [
                position
                for position, character in enumerate(text)
                for _ in _normalize_character(character, *casing).encode()
            ]
        return [
            position
            for position, character in enumerate(text)
            for _ in (
                space
                if is_whitespace(character)
                else _normalize_character(character, *casing).encode()
            )
        ]

    def _tokenize_chunk(self, chunk):
        words = self._words_of_chunk(chunk)
        return tuple(id_ for word in words for id_, _, _ in self._pieces(word))

    def _split_chunk(self, chunk):
        return split_chunk(chunk, self._lower_case, self._strip_accents)

    def _split_ordinary_chunk(self, chunk):
        """Splits a chunk; raises _AddedTokenError if an added token may begin in it."""
        words = self._split_chunk(chunk)
        if self._in_text.may_begin_in(chunk) or self._in_normalized.may_begin_in("".join(words)):
            raise _AddedTokenError
        return words

    def _pieces(self, word):
        """Splits a word into tokens, longest match first.

        Returns:
          List of (id, first character, character after the last).
        """
        unknown = [(self.unk_id, 0, len(word))]
        if len(word) > MAX_WORD_CHARACTERS:
            return unknown
        pieces = []
        start = 0
        while start < len(word):
            prefix = SUFFIX_INDICATOR if start else ""
            for end in range(min(len(word), start + self._max_entry_length), start, -1):
                id_ = self._ids.get(prefix + word[start:end])
                if id_ is not None:
                    break
            else:
                return unknown
            pieces.append((id_, start, end))
            start = end
        return pieces


def _append(spans, id_, start, end):
    spans.ids.append(id_)
    spans.starts.append(start)
    spans.ends.append(end)


class Row(NamedTuple):
    """An unpadded row [CLS] a [SEP] or [CLS] a [SEP] b [SEP]."""

    ids: list
    segments: list
    was_cut: bool  # Whether tokens were truncated.


def join_ids(tokenizer, first, second, max_seq_length):
    """Joins lists of IDs as a Row, truncated as in BertTokenizer.encode.

    `second` is None for a single text.
    """
    room = max_seq_length - (2 if second is None else 3)
    keep_first = min(len(first), room)
    keep_second = 0
    if second:
        # Truncating the longer text leaves either the shorter one complete or half of the room to
        # each.
        keep_first = min(len(first), max(room - len(second), room - room // 2))
        keep_second = min(len(second), room - keep_first)
    # A second text without tokens has no [SEP], which leaves one more position to the first.
    elif second is not None:
        keep_first = min(len(first), room + 1)
    ids = [tokenizer.cls_id, *first[:keep_first], tokenizer.sep_id]
    segments = [0] * len(ids)
    if keep_second:
        ids += [*second[:keep_second], tokenizer.sep_id]
        segments += [1] * (keep_second + 1)
    return Row(ids, segments, keep_first + keep_second < len(first) + len(second or ()))


def join_texts(tokenizer, max_seq_length, texts, others=None, tokenize=None):
    """Joins texts, lists of str with `others` for pairs, into a list of Row; see `join_ids`.

    `tokenize` is a function of a str that returns a list of int; defaults to `tokenizer.ids`.
    """
    tokenize = tokenize or tokenizer.ids
    if others is None:
        return [join_ids(tokenizer, tokenize(text), None, max_seq_length) for text in texts]
    return [
        join_ids(tokenizer, tokenize(text), tokenize(other), max_seq_length)
        for text, other in zip(texts, others, strict=True)
    ]


def list_word_windows(lengths, room):
    """Divides the words of a text into windows that are as full as possible, without overlaps.

    Args:
      lengths: List of int. Number of tokens of each word.
      room: int. Maximum number of tokens of a window. A word with more tokens has its own window.

    Returns:
      List of (start, stop). First word of each window, and the word after its last one.
    """
    starts = []
    total = room
    for word, length in enumerate(lengths):
        length = min(length, room)
        if total + length > room:
            starts.append(word)
            total = 0
        total += length
    return list(itertools.pairwise([*starts, len(lengths)]))


def were_cut(rows):
    """Returns a bool array [R], True for truncated Rows."""
    return np.array([row.was_cut for row in rows], bool)
