"""The replaceable words of a text, with their positions and tokens, in plain Python."""

import dataclasses
import functools

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from bert_tf.tokenization.vocabulary import SUFFIX_INDICATOR
from data_prep.augmentation.settings import ENGLISH


@dataclasses.dataclass(frozen=True)
class Word:
    """A word of a text.

      text: str. The word as written in the text.
      start, end: int. Character range [start, end) in the text.
      first: int. 0-based position of its first token in the text.
      ids: Tuple of int. IDs of its tokens.
    """

    text: str
    start: int
    end: int
    first: int
    ids: tuple[int, ...]


class Words:
    """Finds the words of texts.

    Args:
      tokenizer: PlainTokenizer.
      stop_words: str. One of data_prep.augmentation.settings.STOP_WORDS.
    """

    def __init__(self, tokenizer, stop_words):
        self._tokenizer = tokenizer
        self._stop_words = ENGLISH_STOP_WORDS if stop_words == ENGLISH else frozenset()

    def __call__(self, text):
        """Maps a text, a str, to (list of int, all its token IDs; list of Word, its replaceable words)."""
        ids, starts, ends = self._tokenizer.ids_and_spans(text)
        words = []
        for place, (id_, start, end) in enumerate(zip(ids, starts, ends, strict=True)):
            if self._continues(id_) and words:
                last = words.pop()
                words.append(dataclasses.replace(last, text=text[last.start : end], end=end, ids=(*last.ids, id_)))
            else:
                words.append(Word(text[start:end], start, end, place, (id_,)))
        return ids, [word for word in words if self._is_replaceable(word)]

    def _continues(self, id_):
        return self._tokenizer.vocabulary[id_].startswith(SUFFIX_INDICATOR)

    def _is_replaceable(self, word):
        is_word = any(map(str.isalpha, word.text)) and word.text.lower() not in self._stop_words
        return is_word and self._tokenizer.unk_id not in word.ids


@functools.cache
def is_replacement(token):
    """Returns whether a vocabulary entry is a complete word of letters only."""
    return token.isalpha()


def replace(text, replacements):
    """Returns the text with words replaced.

    Args:
      text: str.
      replacements: List of (Word, str), in the order of the text.
    """
    parts, end = [], 0
    for word, replacement in replacements:
        parts += text[end : word.start], replacement
        end = word.end
    return "".join([*parts, text[end:]])
