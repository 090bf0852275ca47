"""Sentences with a label per word from CoNLL-U treebanks, as published by Universal Dependencies.

A file has one word per line, with ten tab-separated columns: ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS,
MISC. Lines that begin with # are comments. An empty line ends a sentence. Lines of multiword tokens (ID 3-4) and of
empty nodes (ID 5.1) are skipped: the tree contains only words with integer IDs. The comment `# text = ...` contains
the original text of the sentence.
"""

import itertools
import re

from bert_tf import files
from bert_tf.errors import InputError
from data_prep.tasks import conll

SUFFIX = ".conllu"  # End of the names of treebanks.
NUM_COLUMNS = 10
LABEL_COLUMNS = {"upos": 3, "xpos": 4, "feats": 5}  # Columns with a label for each word.
NO_LABEL = "_"  # Unspecified value of a column.
TEXT = re.compile(r"#\s*text\s*=\s*(.*)")


def is_treebank(path):
    """Returns whether the name of a file is the name of a treebank."""
    return path.endswith(SUFFIX)


def read_labels(path, column, has_labels=True):
    """Reads the words of a file, and their labels in a column. The tree can be unspecified.

    Args:
      path: Path of the file.
      column: One of LABEL_COLUMNS.
      has_labels: bool. Whether to read the labels.

    Returns:
      data_prep.tasks.conll.Sentences.

    Raises:
      InputError: If a row has another number of columns, if the words are not numbered from 1, if a label is empty, if
        the column is unspecified for all words, or if there are no sentences. The message names the file, and the line
        if applicable.
    """
    decoder, position = files.LineDecoder(), LABEL_COLUMNS[column]
    rows = list(conll.read_rows(path, decoder))
    sentences = [words for words, _ in group_words(path, rows)]
    found = conll.Sentences(
        path, rows, [[line for line, _ in sentence] for sentence in sentences],
        [[columns[1] for _, columns in sentence] for sentence in sentences],
        [[columns[position].strip() for _, columns in sentence] for sentence in sentences] if has_labels else None,
        decoder.num_garbled, label_column=position)
    if not has_labels:
        return found
    for line, label in zip(itertools.chain(*found.lines), itertools.chain(*found.labels), strict=True):
        if not label:
            raise InputError(f"{path}:{line}: {column.upper()} is empty; CoNLL-U marks an unspecified value with "
                             f"{NO_LABEL}")
    if set(itertools.chain(*found.labels)) == {NO_LABEL}:
        raise InputError(f"{path}: {column.upper()} is unspecified ({NO_LABEL}) for all words; set `treebank_column` "
                         "to another column")
    return found


def group_words(path, rows):
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
