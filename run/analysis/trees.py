"""Sentences with their syntax, from treebanks."""

import dataclasses
import re

from bert_tf import files
from bert_tf.errors import InputError
from data_prep.tasks import conll

ROOT = -1  # Head of the word without a head.
TEXT = re.compile(r"#\s*text\s*=\s*(.*)")  # Comment with the original text of a sentence.


@dataclasses.dataclass(frozen=True)
class Sentence:
    """A sentence of W words.

    Attributes:
      words: List of str.
      tags: List of str. Universal parts of speech.
      heads: List of int. 0-based number of each word's head, or ROOT.
      relations: List of str. Relation of each word to its head.
      text: str or None. Original text of the sentence, if the file contains it.
    """

    words: list
    tags: list
    heads: list
    relations: list
    text: str | None = None

    def align(self):
        """Finds the words in the text.

        Returns:
          List of W int, the character at which each word begins; None if there is no text, or if it is not the forms
          of the words, in sequence, with or without spaces between them.
        """
        if self.text is None:
            return None
        starts, end = [], 0
        for word in self.words:
            start = end + len(self.text[end:]) - len(self.text[end:].lstrip())
            if not self.text.startswith(word, start):
                return None
            starts.append(start)
            end = start + len(word)
        return None if self.text[end:].strip() else starts


def read_sentences(path, decoder=None):
    """Yields the Sentences of a treebank.

    Args:
      path: Path of the file.
      decoder: bert_tf.files.LineDecoder that drops invalid UTF-8 bytes and counts their lines, or None.

    Raises:
      InputError: See `conll.select_words`; and if a head is not a word of the sentence, or if there are no sentences.
        The message names the file, and the line if applicable.
    """
    is_empty = True
    for block in conll.group_rows(conll.read_rows(path, decoder or files.LineDecoder())):
        if not (words := conll.select_words(path, block)):
            continue
        is_empty = False
        texts = [match[1] for _, row in block if (match := TEXT.fullmatch(row))]
        heads = [_parse_head(path, line, columns[6], len(words)) for line, columns in words]
        yield Sentence([columns[1] for _, columns in words], [columns[3] for _, columns in words], heads,
                       [columns[7] for _, columns in words], texts[-1] if texts else None)
    if is_empty:
        raise InputError(f"{path}: contains no sentences")


def _parse_head(path, line, text, num_words):
    if text not in map(str, range(num_words + 1)):
        raise InputError(f"{path}:{line}: HEAD {text!r}: must be a number from 0 to {num_words}")
    return int(text) - 1
