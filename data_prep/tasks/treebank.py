"""Sentences with their syntax and labels, from CoNLL-U treebanks as published by Universal Dependencies.

A file has one word per line, with ten tab-separated columns: ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS,
MISC. Lines that begin with # are comments. An empty line ends a sentence. Lines of multiword tokens (ID 3-4) and of
empty nodes (ID 5.1) are skipped: the tree contains only words with integer IDs. The comment `# text = ...` contains
the original text of the sentence.
"""

import dataclasses
import itertools
import re

from bert_tf import files
from bert_tf.errors import InputError
from data_prep.tasks import conll

SUFFIX = ".conllu"  # End of the names of treebanks.
NUM_COLUMNS = 10
LABEL_COLUMNS = {"upos": 3, "xpos": 4, "feats": 5}  # Columns with a label for each word.
NO_LABEL = "_"  # Unspecified value of a column.
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


def is_treebank(path):
    """Returns whether the name of a file is the name of a treebank."""
    return path.endswith(SUFFIX)


def read_sentences(path, decoder=None):
    """Yields the Sentences of a file.

    Args:
      path: Path of the file.
      decoder: bert_tf.files.LineDecoder that drops invalid UTF-8 bytes and counts their lines, or None.

    Raises:
      InputError: If a row has another number of columns, if the words are not numbered from 1, if a head is not a word
        of the sentence, or if there are no sentences. The message names the file, and the line if applicable.
    """
    for words, text in _group_words(path, _read_rows(path, decoder or files.LineDecoder())):
        heads = [_parse_head(path, line, columns[6], len(words)) for line, columns in words]
        yield Sentence([columns[1] for _, columns in words], [columns[3] for _, columns in words], heads,
                       [columns[7] for _, columns in words], text)


def read_labels(path, column):
    """Reads the words of a file, and their labels in a column. The tree can be unspecified.

    Args:
      path: Path of the file.
      column: One of LABEL_COLUMNS. If None, reads no labels.

    Returns:
      data_prep.tasks.conll.Sentences.

    Raises:
      InputError: See `read_sentences`; and if a label is empty, or if the column is unspecified for all words.
    """
    decoder = files.LineDecoder()
    rows = list(_read_rows(path, decoder))
    sentences = [words for words, _ in _group_words(path, rows)]
    lines = [[line for line, _ in sentence] for sentence in sentences]
    words = [[columns[1] for _, columns in sentence] for sentence in sentences]
    if column is None:
        return conll.Sentences(path, rows, lines, words, None, decoder.num_garbled)
    labels = [[columns[LABEL_COLUMNS[column]].strip() for _, columns in sentence] for sentence in sentences]
    for line, label in zip(itertools.chain(*lines), itertools.chain(*labels), strict=True):
        if not label:
            raise InputError(f"{path}:{line}: {column.upper()} is empty; CoNLL-U marks an unspecified value with "
                             f"{NO_LABEL}")
    if set(itertools.chain(*labels)) == {NO_LABEL}:
        raise InputError(f"{path}: {column.upper()} is unspecified ({NO_LABEL}) for all words; set `treebank_column` "
                         "to another column")
    return conll.Sentences(path, rows, lines, words, labels, decoder.num_garbled)


def write_predictions(path, sentences, labels, column):
    """Writes all rows of a treebank with the predicted labels in a column.

    Args:
      path: Path of the output file.
      sentences: data_prep.tasks.conll.Sentences of the treebank.
      labels: List of str per sentence. Predicted labels.
      column: One of LABEL_COLUMNS.
    """
    by_line = dict(zip(itertools.chain(*sentences.lines), itertools.chain(*labels), strict=True))
    with files.new_file(path) as file:
        for line, row in enumerate(sentences.rows, start=1):
            columns = row.split("\t")
            if line in by_line:
                columns[LABEL_COLUMNS[column]] = by_line[line]
            file.write("\t".join(columns) + "\n")


def _read_rows(path, decoder):
    """Yields lines without their ends."""
    with files.at(path).open() as file:
        for line in decoder.lines(file, path):
            yield line.rstrip("\r\n")


def _group_words(path, rows):
    """Yields the sentences of the rows of a file: a list of (line number, columns) of words, and a text or None."""
    group, sentence_text, num_sentences = [], None, 0
    for number, row in enumerate(itertools.chain(rows, [""]), start=1):
        if match := TEXT.fullmatch(row):
            sentence_text = match[1]
        elif row.strip() and not row.startswith("#"):
            group.append((number, row.split("\t")))
        elif not row.strip():
            if words := _select_words(path, group):
                yield words, sentence_text
                num_sentences += 1
            group, sentence_text = [], None
    if not num_sentences:
        raise InputError(f"{path}: contains no sentences")


def _select_words(path, rows):
    """Returns the words among the rows of a sentence, (line number, columns) each, and checks them."""
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
        if columns[0] != str(len(words)):
            raise InputError(f"{path}:{line}: ID {columns[0]}: must be {len(words)}")
    return words


def _parse_head(path, line, text, num_words):
    if text not in map(str, range(num_words + 1)):
        raise InputError(f"{path}:{line}: HEAD {text!r}: must be a number from 0 to {num_words}")
    return int(text) - 1
