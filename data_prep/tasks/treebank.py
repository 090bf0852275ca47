"""Sentences with their syntax: treebanks in CoNLL-U, as Universal Dependencies publishes them.

A file has a word a line, ten columns divided by tabs: ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC.
Lines that begin with # are comments, an empty line ends a sentence. Lines of tokens that are several words (ID 3-4) and
of words that are not in the text (ID 5.1) are left out: the tree is one of the words with whole numbers.
"""

import dataclasses

from bert_tf import files
from bert_tf.errors import InputError

NUM_COLUMNS = 10
ROOT = -1  # the head of the word that has none


@dataclasses.dataclass(frozen=True)
class Sentence:
    """A sentence of W words.

    Attributes:
      words: list of str.
      tags: universal parts of speech, list of str.
      heads: the number of each word's head, from 0; ROOT of the root.
      relations: the relation of each word to its head, list of str.
    """

    words: list
    tags: list
    heads: list
    relations: list


def read_sentences(path, decoder=None):
    """Yields the Sentences of a file.

    Args:
      path: of the file.
      decoder: bert_tf.files.LineDecoder, which drops bytes that are not UTF-8 and counts their lines; or None.

    Raises:
      InputError: naming file and line, for another number of columns, numbers of words that do not count up from 1, a
        head that is no word of the sentence; naming the file, where it has no sentences.
    """
    decoder = decoder or files.LineDecoder()
    rows, found = [], 0
    with files.open_bytes(path) as file:
        for number, line in enumerate(file, start=1):
            text = decoder(line, number == 1).rstrip("\r\n")
            if text.strip() and not text.startswith("#"):
                rows.append((number, text.split("\t")))
            elif not text.strip() and (sentence := _sentence(path, rows)):
                yield sentence
                found += 1
            if not text.strip():
                rows = []
    if sentence := _sentence(path, rows):
        yield sentence
        found += 1
    if not found:
        raise InputError(f"{path}: has no sentences")


def _sentence(path, rows):
    """The Sentence of rows (line number, columns); None where they have no words."""
    words = []
    for line, columns in rows:
        if len(columns) != NUM_COLUMNS:
            raise InputError(f"{path}:{line}: has {len(columns)} of the {NUM_COLUMNS} columns of CoNLL-U, divided by "
                             "tabs")
        if not columns[0].isdecimal():
            if not columns[0].replace("-", "").replace(".", "").isdecimal():
                raise InputError(f"{path}:{line}: ID is {columns[0]!r}: a whole number, a range or a decimal is needed")
            continue
        words.append((line, columns))
        if int(columns[0]) != len(words):
            raise InputError(f"{path}:{line}: ID is {columns[0]}: it must be {len(words)}")
    heads = [_head(path, line, columns[6], len(words)) for line, columns in words]
    if not words:
        return None
    return Sentence([columns[1] for _, columns in words], [columns[3] for _, columns in words], heads,
                    [columns[7] for _, columns in words])


def _head(path, line, text, num_words):
    if not (text.isdecimal() and int(text) <= num_words):
        raise InputError(f"{path}:{line}: HEAD is {text!r}: it must be a number from 0 to {num_words}")
    return int(text) - 1
