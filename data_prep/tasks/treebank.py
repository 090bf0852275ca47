"""Sentences with their syntax, from CoNLL-U treebanks as published by Universal Dependencies.

A file has one word per line, with ten tab-separated columns: ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS,
MISC. Lines that begin with # are comments. An empty line ends a sentence. Lines of multiword tokens (ID 3-4) and of
empty nodes (ID 5.1) are skipped: the tree contains only words with integer IDs. The comment `# text = ...` contains
the original text of the sentence.
"""

import dataclasses
import re

from bert_tf import files
from bert_tf.errors import InputError

NUM_COLUMNS = 10
ROOT = -1  # Head of the word without a head.
TEXT = re.compile(r"#\s*text\s*=\s*(.*)")


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
    """Yields the Sentences of a file.

    Args:
      path: Path of the file.
      decoder: bert_tf.files.LineDecoder that drops invalid UTF-8 bytes and counts their lines, or None.

    Raises:
      InputError: If a row has another number of columns, if the words are not numbered from 1, if a head is not a word
        of the sentence, or if there are no sentences. The message names the file, and the line if applicable.
    """
    decoder = decoder or files.LineDecoder()
    rows, sentence_text, num_sentences = [], None, 0
    with files.open_bytes(path) as file:
        for number, line in enumerate(file, start=1):
            text = decoder(line, number == 1).rstrip("\r\n")
            if match := TEXT.fullmatch(text):
                sentence_text = match[1]
            elif text.strip() and not text.startswith("#"):
                rows.append((number, text.split("\t")))
            elif not text.strip() and (sentence := _create_sentence(path, rows, sentence_text)):
                yield sentence
                num_sentences += 1
            if not text.strip():
                rows, sentence_text = [], None
    if sentence := _create_sentence(path, rows, sentence_text):
        yield sentence
        num_sentences += 1
    if not num_sentences:
        raise InputError(f"{path}: contains no sentences")


def _create_sentence(path, rows, text):
    """Returns the Sentence of rows (line number, columns) and a text or None, or None if they have no words."""
    words = []
    for line, columns in rows:
        if len(columns) != NUM_COLUMNS:
            raise InputError(f"{path}:{line}: has {len(columns)} columns separated by tabs, but CoNLL-U requires "
                             f"{NUM_COLUMNS}")
        if not columns[0].isdecimal():
            if not columns[0].replace("-", "").replace(".", "").isdecimal():
                raise InputError(f"{path}:{line}: ID {columns[0]!r}: must be an integer, a range, or a decimal")
            continue
        words.append((line, columns))
        if int(columns[0]) != len(words):
            raise InputError(f"{path}:{line}: ID {columns[0]}: must be {len(words)}")
    heads = [_parse_head(path, line, columns[6], len(words)) for line, columns in words]
    if not words:
        return None
    return Sentence([columns[1] for _, columns in words], [columns[3] for _, columns in words], heads,
                    [columns[7] for _, columns in words], text)


def _parse_head(path, line, text, num_words):
    if not (text.isdecimal() and int(text) <= num_words):
        raise InputError(f"{path}:{line}: HEAD {text!r}: must be a number from 0 to {num_words}")
    return int(text) - 1
