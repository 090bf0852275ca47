"""The words of a text that others may stand in for: where each is, and the pieces it has. In plain Python."""

import dataclasses
import functools

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from bert_tf.tokenization.vocabulary import SUFFIX_INDICATOR
from data_prep.augmentation.settings import ENGLISH


@dataclasses.dataclass(frozen=True)
class Word:
    """A word of a text.

    Attributes:
      text: str, as it stands in the text.
      start, end: its characters, [start, end).
      first: position, from 0, of its first piece among those of the text.
      ids: tuple of int, its pieces.
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
      stop_words: one of data_prep.augmentation.settings.STOP_WORDS.
    """

    def __init__(self, tokenizer, stop_words):
        self._tokenizer = tokenizer
        self._stop_words = ENGLISH_STOP_WORDS if stop_words == ENGLISH else frozenset()

    def __call__(self, text):
        """text: str -> (list of int, the ids of all its pieces; list of Word, those that may be replaced)."""
        ids, starts, ends = self._tokenizer.ids_and_spans(text)
        words = []
        for place, (id_, start, end) in enumerate(zip(ids, starts, ends, strict=True)):
            if self._continues(id_) and words:
                last = words.pop()
                words.append(dataclasses.replace(last, text=text[last.start : end], end=end, ids=(*last.ids, id_)))
            else:
                words.append(Word(text[start:end], start, end, place, (id_,)))
        return ids, [word for word in words if self._may_be_replaced(word)]

    def _continues(self, id_):
        return self._tokenizer.vocabulary[id_].startswith(SUFFIX_INDICATOR)

    def _may_be_replaced(self, word):
        is_word = any(map(str.isalpha, word.text)) and word.text.lower() not in self._stop_words
        return is_word and self._tokenizer.unk_id not in word.ids


@functools.cache
def may_stand_in(piece):
    """Whether an entry of a vocabulary is a whole word, of letters alone."""
    return piece.isalpha()


def replace(text, replacements):
    """The text with words replaced.

    Args:
      text: str.
      replacements: list of (Word, str), in the order of the text.
    """
    parts, end = [], 0
    for word, replacement in replacements:
        parts += text[end : word.start], replacement
        end = word.end
    return "".join([*parts, text[end:]])
