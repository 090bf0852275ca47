"""Text to WordPiece IDs, exactly as in the original's `FullTokenizer`, in graph ops.

They have the speed of C++. Two kernels of TensorFlow Text do the work: FastBertNormalizer, with a
model built from the original's rules (`normalizer_model.py`), and FastWordpieceTokenizer. Three
rules involve more than one character, which the normalizer does not support:

- `str.lower` converts a Σ at the end of a word to ς and any other to σ.
- NFD sorts neighboring marks by their combining class, which matters if marks remain that are not
  Mn.
- Words over 200 characters are unknown, but FastWordpieceTokenizer counts bytes.

Regular expressions find the rare texts that these rules affect. Final sigma is corrected in place;
texts that the other two rules affect are tokenized again, in a slower way.
"""

import functools

import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text

from bert_tf.tokenization import normalizer_model, ragged, unicode_rules
from bert_tf.tokenization.added_token_ops import GraphTokenFinder, match_any
from bert_tf.tokenization.added_tokens import index_contents
from bert_tf.tokenization.plain import MAX_WORD_CHARACTERS, TokenSpans
from bert_tf.tokenization.ragged import (
    across_rows,
    characters_before,
    source_spans,
    whole_characters,
)
from bert_tf.tokenization.unicode_rules import LATER_CHARACTERS
from bert_tf.tokenization.vocabulary import SUFFIX_INDICATOR, UNKNOWN, index_tokens

# Enough for any word of 200 characters; a longer word has more than 200 and is unknown in any case.
_MAX_BYTES_PER_WORD = 4 * MAX_WORD_CHARACTERS

# Characters that always end a word, few enough to repeat in a regular expression 200 times.
_SPLITTING = "".join(
    [
        r" !-/:-@\[-`{-~、。〈-】，．：；？！（）",
        *(rf"\x{{{first:x}}}-\x{{{last:x}}}" for first, last in unicode_rules.CJK_RANGES),
    ]
)

# Words over the limit and, to keep the pattern small, runs of words separated by rarer punctuation.
_LONG_RUN = f"(?s).*[^{_SPLITTING}]{{{MAX_WORD_CHARACTERS + 1}}}.*"


class WordPieceTokenizer(tf.Module):
    """Converts text to WordPiece IDs as a function of tensors; use it through BertTokenizer."""

    def __init__(self, vocabulary, lower_case, strip_accents, added_tokens=()):
        """Builds the models of both kernels.

        Args:
          vocabulary: List of str. Token of each ID. For duplicates, the last ID is used.
          lower_case: bool. See BertTokenizer.
          strip_accents: bool. Equal to `lower_case` in the original.
          added_tokens: AddedTokens, which are not split.
        """
        super().__init__()
        known = index_tokens(vocabulary)
        self._strip_accents = strip_accents
        # Otherwise, as in Hugging Face, Σ is an ordinary letter.
        has_final_sigma = lower_case and strip_accents
        self._lower_sigma = _lower_sigma if has_final_sigma else lambda texts: texts
        # Hugging Face finds added tokens in texts without final sigmas.
        self._lower_sigma_to_find = (
            (lambda texts: tf.strings.regex_replace(texts, "Σ", "σ"))
            if has_final_sigma
            else lambda texts: texts
        )
        with tf.init_scope():
            self._normalizer = _normalizer(unicode_rules.normalization, lower_case, strip_accents)
            self._pieces = _wordpiece(
                [
                    _normalize_piece(piece if known[piece] == id_ else "", id_)
                    for id_, piece in enumerate(vocabulary)
                ]
            )
            self._words = _wordpiece([UNKNOWN])
            self._mark_separator = (
                _normalizer(unicode_rules.mark_separation) if strip_accents else None
            )
            contents = index_contents(added_tokens, self._normalize_content)
            # Finders of tokens, None without any.
            self._in_text, self._in_normalized = (
                GraphTokenFinder(contents[normalized], normalized) if contents[normalized] else None
                for normalized in (False, True)
            )
            # A pattern, after others, for normalized texts that may contain an added token. In one
            # search for all, texts without any take at most 2% longer. Texts with one are tokenized
            # in the slower way, which takes three to five times as long.
            self._candidates = "".join(
                f"|{match_any(map(self._normalize_content, finder.contents))}"
                for finder in (self._in_text, self._in_normalized)
                if finder
            )
        self._unknown_id = known[UNKNOWN]
        # Graphs call functions that are traced once: tracing takes half a second, and an export has
        # several texts. They are inside lambdas, since a SavedModel would export functions that are
        # attributes of a tf.Module.
        in_graph = {
            function: tf.function(function, [tf.TensorSpec([None], tf.string)], autograph=False)
            for function in (self._ids, self._ids_and_spans)
        }
        self._called = lambda function: function if tf.executing_eagerly() else in_graph[function]

    def ids(self, texts):
        """Tokenizes string [B] -> RaggedTensor int32 [B, (tokens)]."""
        return self._called(self._ids)(texts)

    def ids_and_spans(self, texts):
        """Tokenizes string [B] and finds the source of each token.

        Returns:
          TokenSpans of RaggedTensors [B, (tokens)]; `ids` are int32, the others int64. Spans are in
          bytes.
        """
        return TokenSpans(*self._called(self._ids_and_spans)(texts))

    def _ids(self, texts):
        normalized, needs_care = self._finish(texts, self._normalizer.normalize(texts))
        ids = self._pieces.tokenize(normalized)
        (ids,) = _replace_rows(
            [ids], needs_care, lambda: self._tokenize_with_care(texts, needs_care)[:1]
        )
        return ids

    def _ids_and_spans(self, texts):
        normalized, sources = self._normalizer.normalize_with_offsets(texts)
        normalized, needs_care = self._finish(texts, normalized)
        ids, starts, ends = self._pieces.tokenize_with_offsets(normalized)
        spans = [ids, *source_spans(starts, ends, sources)]
        return _replace_rows(spans, needs_care, lambda: self._tokenize_with_care(texts, needs_care))

    def _finish(self, texts, normalized):
        """Lowercases Σ where the normalizer, whose output is string [B] `normalized`, does not.

        Returns:
          Tuple `(normalized, needs_care)`: string [B] of the same lengths; bool [B], True for texts
          that contain an added token, or that a rule about marks or long words can affect.
        """
        possible = _rare_text_pattern("Σ") if self._strip_accents else _LONG_RUN
        rare = _rare_text_pattern("") if self._strip_accents else _LONG_RUN
        is_rare = tf.strings.regex_full_match(normalized, possible + self._candidates)
        if not self._strip_accents and not self._candidates:
            return normalized, is_rare
        return tf.cond(
            tf.reduce_any(is_rare),
            lambda: (
                self._lower_sigma(normalized),
                self._add_texts_with_tokens(
                    tf.strings.regex_full_match(normalized, rare), texts, normalized
                ),
            ),
            lambda: (normalized, is_rare),
        )

    def _add_texts_with_tokens(self, needs_care, texts, normalized):
        """Returns `needs_care`, bool [B], with True for texts that contain an added token."""
        if self._in_text:
            needs_care |= self._in_text.occur_in(texts)
        if self._in_normalized:
            needs_care |= self._in_normalized.occur_in(normalized)
        return needs_care

    def _normalize_content(self, content):
        """Returns an added token, str, in the form in which normalized texts contain it."""
        normalized = self._lower_sigma_to_find(self._normalizer.normalize([content]))
        return normalized.numpy()[0].decode()

    def _tokenize_with_care(self, texts, needs_care):
        """Tokenizes the `texts` that `needs_care` selects by all rules.

        Returns:
          List of the fields of TokenSpans; see `ids_and_spans`.
        """
        texts = tf.boolean_mask(texts, needs_care)
        if not self._in_text:
            return [*self._tokenize_parts(texts)]
        parts = self._in_text.split(texts)
        return [*parts.join(self._tokenize_parts(parts.texts))]

    def _tokenize_parts(self, texts):
        """Tokenizes texts without added tokens, except normalized ones; see `ids_and_spans`."""
        if self._strip_accents:
            ordered, sources = self._mark_separator.normalize_with_offsets(texts)
            normalized, positions = self._normalizer.normalize_with_offsets(_sort_marks(ordered))
            begins = tf.gather(sources.row_starts(), ragged.row_numbers(positions))
            sources = positions.with_values(tf.gather(sources.values, begins + positions.values))
            sources = whole_characters(texts, sources)
        else:
            normalized, sources = self._normalizer.normalize_with_offsets(texts)
        lowered = self._lower_sigma(normalized)
        if self._in_normalized:
            parts = self._in_normalized.split(self._lower_sigma_to_find(normalized), lowered)
            tokens = parts.join(self._tokenize_normalized(parts.texts))
        else:
            tokens = self._tokenize_normalized(lowered)
        return TokenSpans(tokens.ids, *source_spans(tokens.starts, tokens.ends, sources))

    def _tokenize_normalized(self, texts):
        """Tokenizes normalized texts, string [B] -> TokenSpans, in bytes of these."""
        tokens = TokenSpans(*self._pieces.tokenize_with_offsets(texts))
        return self._replace_long_words(texts, tokens)

    def _replace_long_words(self, normalized, tokens):
        """Returns TokenSpans in which one unknown token replaces each word that is too long.

        These are words over MAX_WORD_CHARACTERS.
        """
        ids, starts, ends = tokens
        _, word_starts, word_ends = self._words.tokenize_with_offsets(normalized)
        first, last = characters_before(normalized, [word_starts, word_ends])
        is_long = last.values - first.values > MAX_WORD_CHARACTERS
        word = tf.searchsorted(across_rows(word_starts), across_rows(starts), side="right") - 1
        in_long = tf.gather(is_long, word)
        ids = ids.with_values(tf.where(in_long, self._unknown_id, ids.values))
        ends = ends.with_values(tf.where(in_long, tf.gather(word_ends.values, word), ends.values))
        is_kept = ~in_long | (starts.values == tf.gather(word_starts.values, word))
        return TokenSpans(*(ragged.select(rows, is_kept) for rows in (ids, starts, ends)))


def _replace_rows(results, replaced, make_rows):
    """Replaces some rows of RaggedTensors.

    Args:
      results: List of RaggedTensors [B, (N)].
      replaced: bool [B]. Whether to replace a row.
      make_rows: Function that returns the new rows as a list of RaggedTensors; it is called only if
        there are any.
    """

    def replace():
        numbers = tf.where(replaced)[:, 0]
        return [
            ragged.replace_rows(old, new, numbers)
            for old, new in zip(results, make_rows(), strict=True)
        ]

    return tf.cond(tf.reduce_any(replaced), replace, lambda: results)


def _normalizer(rules, *casing):
    model = _normalizer_model(rules, *casing)
    return tf_text.FastBertNormalizer(model_buffer=tf.constant(np.frombuffer(model, np.uint8)))


@functools.cache
def _normalizer_model(rules, *casing):
    return normalizer_model.build(rules(*casing))


def _wordpiece(vocabulary):
    model = _wordpiece_model(tuple(vocabulary))
    return tf_text.FastWordpieceTokenizer(
        model_buffer=tf.constant(np.frombuffer(model, np.uint8)), token_out_type=tf.int32
    )


# The kernel's builder takes half a second for large vocabularies; few processes use more than two.
@functools.lru_cache(maxsize=4)
def _wordpiece_model(vocabulary):
    no_pretokenization = False
    support_detokenization = False
    # The builder requires one token that it can put into its trie; normalized text contains no
    # control characters.
    return tf_text.build_fast_wordpiece_model(
        [*vocabulary, "\x01"],
        _MAX_BYTES_PER_WORD,
        SUFFIX_INDICATOR,
        UNKNOWN,
        no_pretokenization,
        support_detokenization,
    )


def _normalize_piece(piece, id_):
    """Converts a token to the form in which FastWordpieceTokenizer finds it in normalized text.

    The form of "" is never found.
    """
    # Later characters are not printable in Unicode 14.0.
    if (
        not piece
        or not piece.isprintable()
        or " " in piece
        or "\ufffd" in piece
        or (not LATER_CHARACTERS.isdisjoint(piece))
    ):
        if (
            not piece
            or any(map(unicode_rules.is_dropped, piece))
            or any(map(unicode_rules.is_whitespace, piece))
        ):
            # Cleaned text never contains such a token. The kernel would find it across words, but
            # skips tokens with punctuation inside.
            return f"\n[{id_}]"
        return piece.translate(str.maketrans(unicode_rules.stand_ins()))
    return piece


@functools.cache
def _rare_text_pattern(others):
    """Returns a pattern for normalized texts that a rare rule may affect.

    Such a text has a word that may be too long, marks that NFD sorts, or a character of `others`.
    """
    marks = [mark for marks in unicode_rules.group_sorted_marks().values() for mark in marks]
    return f"{_LONG_RUN}|(?s).*{unicode_rules.regex_class([*others, *marks])}.*"


@functools.cache
def _list_disordered_classes():
    """Returns pairs of bracket expressions for marks in the wrong order.

    The first matches marks of higher combining classes, the second marks of the class before them.
    """
    marks = list(unicode_rules.group_sorted_marks().values())
    return [
        (
            unicode_rules.regex_class([mark for later in marks[index + 1 :] for mark in later]),
            unicode_rules.regex_class(lower),
        )
        for index, lower in enumerate(marks[:-1])
    ]


def _sort_marks(texts):
    """Sorts neighboring marks by combining class, stably; string [B] -> string [B]."""
    pairs = _list_disordered_classes()
    pattern = "|".join(f"({higher})({lower})" for higher, lower in pairs)
    swapped = "".join(rf"\{2 * index + 2}\{2 * index + 1}" for index in range(len(pairs)))

    def swap(texts, _):
        after = tf.strings.regex_replace(texts, pattern, swapped)
        return after, tf.reduce_any(after != texts)

    return tf.while_loop(lambda _, changed: changed, swap, (texts, tf.constant(True)))[0]


def _lower_sigma(texts):
    """Lowercases Σ in texts that are otherwise normalized; string [B] -> string [B].

    The lengths are unchanged.
    """
    pattern = _final_sigma_pattern()
    return tf.strings.regex_replace(tf.strings.regex_replace(texts, pattern, r"\1ς\2"), "Σ", "σ")


@functools.cache
def _final_sigma_pattern():
    cased, ignored = unicode_rules.sigma_context()
    other = "[^" + unicode_rules.regex_class(cased + ignored)[1:]
    cased = unicode_rules.regex_class(cased)
    ignored = unicode_rules.regex_class(ignored)
    return f"({cased}{ignored}*)Σ({ignored}*(?:{other}|$))"
