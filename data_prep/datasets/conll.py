"""Files with a label per word, columns like CoNLL-2003 or treebanks: sentences and predictions.

A file has one word per row. An empty line ends a sentence.

Columns are separated by tabs or, in rows without tabs, by spaces. Rows that begin with -DOCSTART-,
which begin a document, are skipped. Entity labels can be in one of the schemes of `tag_schemes`.
All are converted to IOB2 (B- begins an entity, I- continues it, O is outside), also in predictions.
Labels without such prefixes, such as parts of speech, are unchanged. Files of objects, such as JSON
lines with lists of words and of labels, are converted to such rows; see `word_objects`.

Treebanks are CoNLL-U files as published by Universal Dependencies. They have ten tab-separated
columns: ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC. Lines that begin with # are
comments. Lines of multiword tokens (ID 3-4) and of empty nodes (ID 5.1) are skipped: only words
have integer IDs.
"""

import dataclasses
import itertools
import re

from bert_tf import files
from bert_tf.errors import InputError
from data_prep.datasets import word_objects
from data_prep.datasets.tag_schemes import ENTITY_LABEL, OUTSIDE, find_scheme, to_iob2
from data_prep.tables import contents

DOCUMENT_START = "-DOCSTART-"

TREEBANK_SUFFIX = ".conllu"  # End of the names of treebanks.
NUM_TREEBANK_COLUMNS = 10
FORM = 1  # Column of the word in a treebank.
TREEBANK_LABELS = {"upos": 3, "xpos": 4, "feats": 5}  # Columns with a label for each word.


@dataclasses.dataclass(frozen=True)
class Sentences:
    """The sentences of a file.

    Each list has one item per sentence. Unless noted, it is a list with one item per word.

    Attributes:
      path: Path of the file.
      rows: Flat list of str. All rows of the file, without line ends.
      lines: int. 1-based number of the row's line.
      words: str.
      labels: str. IOB2 labels for entities. None if labels were not read.
      num_garbled: int, not a list. Number of lines whose invalid UTF-8 bytes were dropped.
      documents: int per sentence. Number of -DOCSTART- rows before it. None if not known.
    """

    path: str
    rows: list
    lines: list
    words: list
    labels: list | None
    num_garbled: int = 0
    documents: list | None = None

    def __len__(self):
        return len(self.words)

    @property
    def num_words(self):
        """Number of words of all sentences."""
        return sum(map(len, self.words))


def read_sentences(path, token_column=0, label_column=None):
    """Reads a file with columns, or a treebank, whose tree can be unspecified.

    Args:
      path: Path of the file.
      token_column: int. 0-based column of the word; -1 for the last. Has no effect on treebanks.
      label_column: int, the column of the label, or, for a treebank, one of TREEBANK_LABELS. If
        None, reads no labels.

    Returns:
      Sentences.

    Raises:
      InputError: If the file is missing or has no words; if a row has a different number of columns
        than the first, or lacks a required column; if a word or label is empty; or if only some
        labels have entity prefixes. For treebanks, see `select_words`. The message names the file,
        and the line if applicable.
    """
    decoder = files.LineDecoder()
    rows = list(read_conll_rows(path, decoder))
    if is_treebank(path):
        sentences = [words for block in group_rows(rows) if (words := select_words(path, block))]
        documents = None
        token_column = FORM
        column = TREEBANK_LABELS.get(label_column)
    else:
        sentences, documents = _select_rows(path, rows, token_column, label_column)
        column = label_column
    if not sentences:
        raise InputError(f"{path}: contains no {'sentences' if is_treebank(path) else 'words'}")
    lines = [[line for line, _ in sentence] for sentence in sentences]
    words = [[fields[token_column] for _, fields in sentence] for sentence in sentences]
    if column is None:
        return Sentences(path, rows, lines, words, None, decoder.num_garbled, documents)
    labels = [[fields[column].strip() for _, fields in sentence] for sentence in sentences]
    if not is_treebank(path):
        scheme = find_scheme(set(itertools.chain(*labels)))
        if scheme:
            labels = [to_iob2(sentence, scheme) for sentence in labels]
        elif any(map(ENTITY_LABEL.fullmatch, itertools.chain(*labels))):
            _check_entity_labels(path, lines, labels)
    return Sentences(path, rows, lines, words, labels, decoder.num_garbled, documents)


def is_treebank(path):
    """Returns whether the name of a file is the name of a treebank."""
    return path.endswith(TREEBANK_SUFFIX)


def read_conll_rows(path, decoder):
    """Yields the rows of a file, without line ends and without spaces around space-separated rows.

    Files in the formats of `word_objects` become rows with a word and its label. For arguments, see
    `contents.read_table_lines`.
    """
    with contents.open_content(path) as content:
        converted = None if is_treebank(path) else word_objects.find_rows(path, content, decoder)
        if converted is not None:
            yield from converted
            return
        contents.check_is_text(path, content)
        for line in decoder.lines(content.file, path):
            row = line.rstrip("\r\n")
            yield row if "\t" in row or is_treebank(path) else row.strip(" ")


def group_rows(rows):
    """Yields the (line number, row) of the rows between empty rows, a list per sentence."""
    for is_empty, group in itertools.groupby(
        enumerate(rows, start=1), lambda row: not row[1].strip(" \t")
    ):
        if not is_empty:
            yield list(group)


def select_words(path, block):
    """Selects the words of a sentence of a treebank.

    Args:
      path: Path of the file.
      block: List of (line number, row). All rows of the sentence, with comments.

    Returns:
      List of (line number, list of NUM_TREEBANK_COLUMNS str), one per word.

    Raises:
      InputError: If a row has another number of columns, or if the words are not numbered from 1.
        The message names the file and line.
    """
    words = []
    for line, row in block:
        if row.startswith("#"):
            continue
        columns = row.split("\t")
        if len(columns) != NUM_TREEBANK_COLUMNS:
            raise InputError(
                f"{path}:{line}: has {len(columns)} columns separated by tabs, but CoNLL-U "
                f"requires {NUM_TREEBANK_COLUMNS}"
            )
        if "-" in columns[0] or "." in columns[0]:
            continue
        words.append((line, columns))
        if columns[0] != str(len(words)):
            raise InputError(f"{path}:{line}: ID {columns[0]}: must be {len(words)}")
    return words


def _select_rows(path, rows, token_column, label_column):
    """Selects the words of a file with columns, and checks them.

    Returns:
      Tuple `(sentences, documents)`: list of (line number, fields) of the words of each sentence;
      number of the document of each sentence.
    """
    columns = (token_column,) if label_column is None else (token_column, label_column)
    sentences = []
    documents = []
    document = 0
    first = None
    for block in group_rows(rows):
        for is_start, group in itertools.groupby(
            block, lambda row: row[1].startswith(DOCUMENT_START)
        ):
            if is_start:
                document += len(list(group))
                continue
            sentence = [(line, _split_fields(row)) for line, row in group]
            first = first or (sentence[0][0], len(sentence[0][1]))
            for line, fields in sentence:
                _check_row(path, line, fields, columns, *first)
            sentences.append(sentence)
            documents.append(document)
    return sentences, documents


def are_entity_labels(names):
    """Returns whether label names are IOB2 entity labels."""
    return any(map(ENTITY_LABEL.fullmatch, names))


def find_label_names(sentences):
    """Returns the labels defined by a training file, in the order of their IDs, a tuple of str.

    For entities: O, then B- and I- of each type, with types sorted. Otherwise: the labels that
    occur, sorted.

    Raises:
      InputError: If all words have the same label. The message names the file.
    """
    names = set(itertools.chain(*sentences.labels))
    if len(names) < 2:
        raise InputError(
            f"{sentences.path}: all words have the label {names.pop()!r}; check the label column"
        )
    if not are_entity_labels(names):
        return tuple(sorted(names))
    types = sorted({name.split("-", 1)[1] for name in names - {OUTSIDE}})
    names = [OUTSIDE]
    for type_ in types:
        names += [f"B-{type_}", f"I-{type_}"]
    return tuple(names)


def write_tags(path, sentences, labels, column=None):
    """Writes all rows of a file with the predicted labels.

    Args:
      path: Path of the output file.
      sentences: Sentences.
      labels: List of str per sentence. Predicted labels.
      column: One of TREEBANK_LABELS, in which labels replace the values of a treebank. If None,
        labels are an additional column, with the separator of the row, and rows that begin
        documents have the label O.
    """
    by_line = dict(zip(itertools.chain(*sentences.lines), itertools.chain(*labels), strict=True))
    with files.new_file(path) as file:
        for line, row in enumerate(sentences.rows, start=1):
            label = by_line.get(line)
            if column is None and row.startswith(DOCUMENT_START):
                label = OUTSIDE
            if label and column is None:
                row += ("\t" if "\t" in row else " ") + label
            elif label:
                fields = row.split("\t")
                fields[TREEBANK_LABELS[column]] = label
                row = "\t".join(fields)
            file.write(f"{row}\n")


def _split_fields(row):
    return row.split("\t") if "\t" in row else re.split(" +", row)


def _check_row(path, line, fields, columns, first_line, width):
    if len(fields) != width:
        raise InputError(
            f"{path}:{line}: has {len(fields)} columns, but line {first_line} has {width}; if "
            "words or labels contain spaces, separate the columns with tabs"
        )
    for column in columns:
        if not -width <= column < width:
            raise InputError(
                f"{path}:{line}: column {column} does not exist; the row has {width} columns: 0 to "
                f"{width - 1}, or {-width} to -1"
            )
        if not (fields[column] if column == columns[0] else fields[column].strip()):
            raise InputError(f"{path}:{line}: column {column} is empty")
    if len({column % width for column in columns}) < len(columns):
        raise InputError(
            f"{path}:{line}: of {width} columns, {columns[0]} and {columns[1]} are the same; set "
            "`token_column` and `label_column` to different columns"
        )


def _check_entity_labels(path, lines, labels):
    """Raises InputError with file and line for labels that do not have one scheme."""
    prefixes = {}
    for line, label in zip(itertools.chain(*lines), itertools.chain(*labels), strict=True):
        if label == OUTSIDE:
            continue
        if not ENTITY_LABEL.fullmatch(label) and not find_scheme({label}):
            raise InputError(
                f"{path}:{line}: label {label!r}: must be O, or an entity type with the prefix "
                "B-, I-, E-, or S-, as in other rows"
            )
        prefixes.setdefault(label[0], line)
    raise InputError(
        f"{path}: its labels have the prefixes {', '.join(sorted(prefixes))}, which no scheme of "
        "entities has together; use those of IOB2 (B, I), IOBES, BILOU, or BMES"
    )
