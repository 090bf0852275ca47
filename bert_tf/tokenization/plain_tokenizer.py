"""The tokenizer in plain Python, with the IDs and spans of BertTokenizer, for processes that start without TensorFlow.

The kernels of BertTokenizer process many texts at a time; this one processes one text and is ready immediately. It
caches the tokens of the strings between spaces.
"""

import bisect
import functools
import itertools

from bert_tf.tokenization.unicode_rules import (
    is_cjk,
    is_dropped,
    is_punctuation,
    is_whitespace,
    lower,
    remove_accents,
)
from bert_tf.tokenization.vocabulary import SPECIAL_PIECES, SUFFIX_INDICATOR, index_tokens
from bert_tf.tokenization.words import MAX_WORD_CHARACTERS, chunks, split_chunk

CACHED_CHUNKS = 1 << 15  # about 10 MB


class PlainTokenizer:
    """Converts text to WordPiece IDs. "[MASK]" in a text is three ordinary words, as in the original.

    Attributes:
      vocabulary: List of str. Token of each ID.
      pad_id, unk_id, cls_id, sep_id, mask_id: int. IDs of the special tokens.
    """

    def __init__(self, vocabulary, lower_case=True, strip_accents=None):
        """Args: vocabulary: list of str, from `read_vocabulary`; for the others, see BertTokenizer."""
        self.vocabulary = vocabulary
        self._ids = index_tokens(vocabulary)
        self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id = map(
            self._ids.__getitem__, SPECIAL_PIECES)
        self._lower_case = bool(lower_case)
        self._strip_accents = self._lower_case if strip_accents is None else bool(strip_accents)
        self._longest = max(map(len, vocabulary))
        self._ids_of_chunk = functools.lru_cache(CACHED_CHUNKS)(self._tokenize_chunk)

    def ids(self, text):
        """Tokenizes a str; returns a list of int, without [CLS] and [SEP]."""
        return [id_ for chunk in chunks(text) for id_ in self._ids_of_chunk(chunk)]

    def ids_and_spans(self, text):
        """Tokenizes a text and finds the source of each token.

        Args:
          text: str.

        Returns:
          Tuple `(ids, starts, ends)` of lists of int: a token comes from the characters [start, end) of the text. Spans
          contain whole characters, including the following ones that normalization drops.
        """
        ids, starts, ends = [], [], []
        kept, words = self._normalize_text(text)
        for characters, firsts, lasts in words:
            for id_, begin, end in self._pieces("".join(characters)):
                ids.append(id_)
                starts.append(firsts[begin])
                # A token can end in the middle of a character's output: the span ends at the next character.
                following = bisect.bisect_right(kept, lasts[end - 1])
                ends.append(kept[following] if following < len(kept) else len(text))
        return ids, starts, ends

    def _tokenize_chunk(self, chunk):
        words = split_chunk(chunk, self._lower_case, self._strip_accents)
        return tuple(id_ for word in words for id_, _, _ in self._pieces(word))

    def _pieces(self, word):
        """Splits a word into tokens, longest match first: list of (id, first character, character after the last)."""
        unknown = [(self.unk_id, 0, len(word))]
        if len(word) > MAX_WORD_CHARACTERS:
            return unknown
        pieces, start = [], 0
        while start < len(word):
            prefix = SUFFIX_INDICATOR if start else ""
            for end in range(min(len(word), start + self._longest), start, -1):
                id_ = self._ids.get(prefix + word[start:end])
                if id_ is not None:
                    break
            else:
                return unknown
            pieces.append((id_, start, end))
            start = end
        return pieces

    def _normalize_text(self, text):
        """Normalizes a text and splits it into words.

        Returns:
          Tuple `(kept, words)`: ascending positions of the characters that normalization keeps; and for each word, its
          characters and the positions of the first and of the last source of each, three lists.
        """
        kept, words, token = [], [], []
        for position, character in enumerate(text):
            if is_dropped(character):
                continue
            if is_whitespace(character):
                kept.append(position)
            elif not is_cjk(character):
                token.append((character, position))
                continue
            self._normalize(token, kept, words)
            token = []
            if is_cjk(character):
                self._normalize([(character, position)], kept, words)
        self._normalize(token, kept, words)
        return sorted(set(kept)), words

    def _normalize(self, token, kept, words):
        """Appends the words of one token, a list of (character, position), and the positions that they come from."""
        if not token:
            return
        if self._lower_case:
            token = self._lower(token)
        sources = [(*item, item[1]) for item in token]
        if self._strip_accents:
            sources = _remove_accents(token)
        word = ([], [], [])
        for character, first, last in sources:
            kept += [first, last]
            if is_punctuation(character):
                words += [word, ([character], [first], [last])]
                word = ([], [], [])
            else:
                word[0].append(character)
                word[1].append(first)
                word[2].append(last)
        words.append(word)

    def _lower(self, token):
        if not self._strip_accents:  # As in Hugging Face: Σ is an ordinary letter.
            return [(part, position) for character, position in token for part in character.lower()]
        # The lowercase of Σ depends on its neighbors, but is always one character.
        lower_characters = iter(lower("".join(character for character, _ in token)))
        return [(next(lower_characters), position) for character, position in token for _ in character.lower()]


def _remove_accents(token):
    """Decomposes (NFD) and drops marks of category Mn; returns a list of (character, first and last position).

    NFD sorts neighboring marks by combining class. The graph sorts the UTF-8 bytes of the remaining ones, and does not
    reorder the positions of these bytes: a mark of three bytes moves before one of four, which then has two positions.
    """
    parts = [(part, position) for character, position in token for part in remove_accents(character)]
    characters = list(remove_accents("".join(character for character, _ in token)))
    if characters == [part for part, _ in parts]:
        return [(part, position, position) for part, position in parts]
    positions = [position for part, position in parts for _ in part.encode()]
    ends = list(itertools.accumulate(len(character.encode()) for character in characters))
    return [(character, positions[begin], positions[end - 1])
            for character, begin, end in zip(characters, [0, *ends[:-1]], ends, strict=True)]
