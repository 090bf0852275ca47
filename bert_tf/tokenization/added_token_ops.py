"""Splitting of texts at added tokens in graph ops, as in `added_tokens.TokenFinder`.

A regular expression of all tokens, the longest first, marks those in a text. Their hashes tell them
apart, since a graph has no dicts without state. An invalid byte within a token hides it, because
the search is in bytes; `TokenFinder` searches texts from which such bytes were dropped.

Shape legend: B batch, (parts) of a text between its tokens, PA parts, TA added tokens.
"""

import functools
import re
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.tokenization import ragged
from bert_tf.tokenization.added_tokens import WHITESPACE, sort_by_length
from bert_tf.tokenization.plain import TokenSpans
from bert_tf.tokenization.unicode_rules import is_cjk, is_word_character, regex_class

# Normalization drops both from any text.
_MARK = "\x01"
_ORDINARY = "\x02"

_SPACES = f"{regex_class(WHITESPACE)}+"


class TextParts(NamedTuple):
    """Texts that were split at their added tokens: each part precedes a token, except the last."""

    texts: tf.Tensor  # string [PA].
    rows: tf.RaggedTensor  # int64 [B, (parts)]. First byte of each part in its text.
    tokens: TokenSpans  # RaggedTensors [PA, (0 or 1)]: int32 IDs, int64 bytes in the text.

    def join(self, tokens):
        """Merges the tokens of each part, TokenSpans [PA, (tokens)], into those of texts.

        Returns:
          TokenSpans [B, (tokens)].
        """
        offsets = self.rows.values

        def move(positions):
            return positions.with_values(
                positions.values + tf.gather(offsets, ragged.row_numbers(positions))
            )

        fields = (tokens.ids, move(tokens.starts), move(tokens.ends))
        return TokenSpans(
            *(
                ragged.merge_dimensions(self.rows, ragged.concatenate_rows(between, added))
                for between, added in zip(fields, self.tokens, strict=True)
            )
        )


class GraphTokenFinder:
    """Finds added tokens in texts; see TokenFinder."""

    def __init__(self, tokens, in_normalized):
        """Builds the search.

        Args:
          tokens: Dict of text to find -> AddedToken; not empty.
          in_normalized: bool. Whether texts are normalized; CJK characters then do not prevent
            tokens of a single word.
        """
        self.contents = list(tokens)
        self._tokens = list(tokens.values())
        self._in_normalized = in_normalized
        hashes = _hash(tf.constant(self.contents)).numpy()
        self._order = np.argsort(hashes)
        self._hashes = hashes[self._order]
        if len(set(hashes)) < len(hashes):
            raise InputError("two added tokens have the same hash; omit one of them")

    def occur_in(self, texts):
        """Returns bool [B], True for texts, string [B], with an added token.

        Any lowercase sigma counts as equal to another one.
        """
        return tf.strings.regex_full_match(texts, match_any(self.contents))

    def split(self, texts, contents=None):
        """Splits texts at their added tokens.

        Args:
          texts: string [B]. Texts to search.
          contents: string [B]. Texts of the same lengths to split; None for `texts`.

        Returns:
          TextParts.
        """
        contents = texts if contents is None else contents
        pieces = tf.strings.split(self._mark(texts), _MARK)
        lengths = tf.cast(tf.strings.length(pieces.values), tf.int64)
        rows = ragged.row_numbers(pieces)
        columns = tf.range(tf.size(rows, tf.int64)) - tf.gather(pieces.row_starts(), rows)
        ends = tf.cumsum(lengths)
        row_begins = tf.gather(tf.concat([[0], ends], 0), pieces.row_starts())
        ends -= tf.gather(row_begins, rows)
        is_token = columns % 2 == 1
        if any(token.single_word for token in self._tokens):
            is_token &= ~self._find(pieces.values, "single_word", is_token) | ~(
                self._is_in_word(pieces, rows, columns)
            )
        selected = tf.where(is_token)[:, 0]
        token = self._index(tf.gather(pieces.values, selected))
        counts = tf.math.unsorted_segment_sum(
            tf.ones_like(selected), tf.gather(rows, selected), pieces.nrows()
        )
        return self._make_parts(
            contents,
            token,
            ragged.split_by_lengths(tf.gather(ends - lengths, selected), counts),
            ragged.split_by_lengths(tf.gather(ends, selected), counts),
        )

    def _mark(self, texts):
        texts = tf.strings.regex_replace(texts, _MARK, _ORDINARY)
        return tf.strings.regex_replace(
            texts, f"({_list_alternatives(self.contents)})", rf"{_MARK}\1{_MARK}"
        )

    def _index(self, contents):
        """Returns the numbers of the tokens with these contents, int64 [TA]."""
        return tf.gather(
            tf.constant(self._order), tf.searchsorted(tf.constant(self._hashes), _hash(contents))
        )

    def _find(self, contents, flag, is_token):
        """Returns a flag of the tokens with these contents, bool; undefined unless `is_token`."""
        numbers = tf.minimum(
            tf.searchsorted(tf.constant(self._hashes), _hash(contents)), len(self._tokens) - 1
        )
        return is_token & tf.gather(self._flags(flag), tf.gather(tf.constant(self._order), numbers))

    def _flags(self, flag):
        return tf.constant([getattr(token, flag) for token in self._tokens])

    def _is_in_word(self, pieces, rows, columns):
        """Returns whether a word character precedes or follows each piece, bool [pieces].

        The pieces of a text are alternately between tokens, and a token. Only those between tokens
        can be empty.
        """
        words = _word_pattern(self._in_normalized)
        count = tf.size(rows, tf.int64)
        last = tf.gather(pieces.row_lengths(), rows) - 1 - columns

        def is_next(direction, distance, pattern):
            matches = tf.strings.regex_full_match(pieces.values, pattern)
            is_empty = tf.equal(pieces.values, "")
            near, far = (
                tf.clip_by_value(tf.range(count) + direction * steps, 0, count - 1)
                for steps in (1, 2)
            )
            return tf.where(
                tf.gather(is_empty, near),
                (distance >= 2) & tf.gather(matches, far),
                (distance >= 1) & tf.gather(matches, near),
            )

        return is_next(-1, columns, f"(?s).*{words}") | is_next(1, last, f"(?s){words}.*")

    def _make_parts(self, texts, token, starts, ends):
        """Creates TextParts.

        Args:
          texts: string [B].
          token: int64 [TA]. Number of each token.
          starts, ends: RaggedTensors int64 [B, (tokens)]. Bytes of the text.
        """
        lengths = tf.cast(tf.strings.length(texts), tf.int64)
        ones = tf.ones_like(lengths)
        begins = ragged.concatenate_rows(ragged.split_by_lengths(0 * ones, ones), ends)
        stops = ragged.concatenate_rows(starts, ragged.split_by_lengths(lengths, ones))
        rows = ragged.row_numbers(begins)
        parts = tf.strings.substr(
            tf.gather(texts, rows), begins.values, tf.maximum(stops.values - begins.values, 0)
        )
        count = tf.size(rows, tf.int64)
        is_last = tf.scatter_nd(
            (begins.row_splits[1:] - 1)[:, tf.newaxis], tf.ones_like(lengths, tf.bool), [count]
        )
        before = tf.where(~is_last)[:, 0]  # Part before each token; the next one is after it.
        left = self._count_spaces(parts, f"^{_SPACES}", "rstrip", token, before + 1)
        right = self._count_spaces(parts, f"{_SPACES}$", "lstrip", token, before)
        length = tf.cast(tf.strings.length(parts), tf.int64)
        right = tf.minimum(right, length - left)
        ids = tf.gather(tf.constant([token.id for token in self._tokens]), token)
        has_token = tf.cast(~is_last, tf.int64)
        return TextParts(
            tf.strings.substr(parts, left, length - left - right),
            begins.with_values(begins.values + left),
            TokenSpans(
                ragged.split_by_lengths(ids, has_token),
                ragged.split_by_lengths(starts.values - tf.gather(right, before), has_token),
                ragged.split_by_lengths(ends.values + tf.gather(left, before + 1), has_token),
            ),
        )

    def _count_spaces(self, parts, pattern, flag, token, neighbors):
        """Counts the bytes of white space that tokens take from their neighbors.

        Args:
          parts: string [PA].
          pattern: Regular expression of the white space.
          flag: Name of the flag of the tokens that take it.
          token: int64 [TA]. Number of each token.
          neighbors: int64 [TA]. Part that a token may take it from.

        Returns:
          int64 [PA].
        """
        if not any(getattr(token, flag) for token in self._tokens):
            return tf.zeros(tf.shape(parts), tf.int64)
        texts = tf.gather(parts, neighbors)
        rest = tf.strings.regex_replace(texts, pattern, "", replace_global=False)
        counts = tf.cast(tf.strings.length(texts) - tf.strings.length(rest), tf.int64)
        counts = tf.where(tf.gather(self._flags(flag), token), counts, 0)
        return tf.scatter_nd(neighbors[:, tf.newaxis], counts, tf.shape(parts, tf.int64))


def match_any(contents):
    """Returns an RE2 pattern for texts that contain one of `contents`, with any sigma."""
    return f"(?s).*(?:{re.sub('[Σσς]', '[Σσς]', _list_alternatives(contents))}).*"


def _list_alternatives(contents):
    return "|".join(map(_escape, sort_by_length(contents)))


def _escape(content):
    """Escapes a text for RE2, which does not accept the escapes of `re.escape` in all cases."""
    return re.sub(r"[^\w\s]", lambda match: rf"\x{{{ord(match[0]):x}}}", content)


def _hash(contents):
    return tf.strings.to_hash_bucket_fast(contents, 2**63 - 1)


@functools.cache
def _word_pattern(in_normalized):
    """Returns an RE2 bracket expression for characters next to which `single_word` is not."""
    return regex_class(
        character
        for character in map(chr, range(0x110000))
        if is_word_character(character) and not (in_normalized and is_cjk(character))
    )
