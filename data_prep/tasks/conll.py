"""Sentences with a label per word, in columns like CoNLL-2003, and predictions in such files.

A file has one word per row. Columns are separated by tabs or, in rows without tabs, by spaces. An empty line ends a
sentence. Rows that begin with -DOCSTART-, which begin a document, are skipped. Entity labels can be IOB1, IOB2, or
IOBES (BIOES). All are converted to IOB2 (B- begins an entity, I- continues it, O is outside). Predictions are written
in the scheme of the file. Labels without such prefixes, such as parts of speech, are unchanged.
"""

import dataclasses
import itertools
import re

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.files import new_file

DOCUMENT_START = "-DOCSTART-"
OUTSIDE = "O"

IOB1, IOB2, IOBES = "IOB1", "IOB2", "IOBES"
ENTITY_LABEL = re.compile(r"([BIES])-(.+)")


@dataclasses.dataclass(frozen=True)
class Sentences:
    """The sentences of a file. Each list has one item per sentence. Unless noted, it is a list with one item per word.

    Attributes:
      path: Path of the file.
      rows: Flat list of str. All rows of the file, without line ends.
      lines: int. 1-based number of the row's line.
      words: str.
      labels: str. IOB2 labels for entities. None if labels were not read.
      num_garbled: int, not a list. Number of lines with invalid UTF-8 bytes, which were dropped.
      documents: int per sentence. Number of -DOCSTART- rows before it. None if not known.
      label_column: int or None, not a list. Column in which predictions replace the labels.
    """

    path: str
    rows: list
    lines: list
    words: list
    labels: list | None
    num_garbled: int = 0
    documents: list | None = None
    label_column: int | None = None

    def __len__(self):
        return len(self.words)

    @property
    def num_words(self):
        return sum(map(len, self.words))


def read_sentences(path, token_column=0, label_column=None):
    """Reads a file.

    Args:
      path: Path of the file.
      token_column: int. 0-based column of the word; -1 for the last.
      label_column: int. Column of the label. If None, reads no labels.

    Returns:
      Sentences.

    Raises:
      InputError: If the file is missing or has no words; if a row has a different number of columns than the first, or
        lacks a required column; if a word or label is empty; or if only some labels have entity prefixes. The message
        names the file, and the line if applicable.
    """
    lines, words, labels, documents = [], [], [], []
    columns, decoder = (token_column,) if label_column is None else (token_column, label_column), files.LineDecoder()
    rows = [row if "\t" in row else row.strip(" ") for row in read_rows(path, decoder)]
    for document, sentence in _group_rows(path, rows, columns):
        documents.append(document)
        lines.append([line for line, _ in sentence])
        words.append([fields[token_column] for _, fields in sentence])
        if label_column is not None:
            labels.append([fields[label_column].strip() for _, fields in sentence])
    if not words:
        raise InputError(f"{path}: contains no words")
    if label_column is None:
        return Sentences(path, rows, lines, words, None, decoder.num_garbled, documents)
    if any(map(ENTITY_LABEL.fullmatch, itertools.chain(*labels))):
        _check_entity_labels(path, lines, labels)
        labels = [to_iob2(sentence) for sentence in labels]
    return Sentences(path, rows, lines, words, labels, decoder.num_garbled, documents)


def to_iob2(labels):
    """Converts the labels of a sentence in IOB1, IOB2, or IOBES to IOB2, a list of str.

    An entity begins at B- and S-, and at an I- or E- that does not follow an entity of its type. This rule is as
    lenient as in conlleval, so any label sequence is converted to a valid one.
    """
    converted, type_before = [], None
    for label in labels:
        if label == OUTSIDE:
            converted.append(label)
            type_before = None
            continue
        prefix, type_ = label.split("-", 1)
        continues = prefix in "IE" and type_ == type_before
        converted.append(f"{'I' if continues else 'B'}-{type_}")
        type_before = type_
    return converted


def from_iob2(labels, scheme):
    """Converts the IOB2 labels of a sentence, list of str, to a scheme."""
    if scheme == IOB2:
        return labels
    converted = []
    for before, label, after in zip([OUTSIDE, *labels], labels, [*labels[1:], OUTSIDE], strict=False):
        prefix, type_ = label[0], label[1:]
        if scheme == IOB1 and prefix == "B" and before[1:] != type_:
            prefix = "I"
        if scheme == IOBES and label != OUTSIDE and after != f"I{type_}":
            prefix = {"B": "S", "I": "E"}[prefix]
        converted.append(prefix + type_)
    return converted


def find_scheme(sentences, label_column):
    """Returns the scheme of the entity labels in a column of a file; IOB2 if there are none."""
    labels = [[_split_fields(sentences.rows[line - 1]) for line in lines] for lines in sentences.lines]
    width = len(labels[0][0])
    if not -width <= label_column < width:
        return IOB2
    labels = [[fields[label_column].strip() for fields in sentence] for sentence in labels]
    distinct = set(itertools.chain(*labels)) - {OUTSIDE}
    if not all(map(ENTITY_LABEL.fullmatch, distinct)):
        return IOB2
    if any(label[0] in "ES" for label in distinct):
        return IOBES
    # In IOB1 an entity begins with I-, or with B- if it follows one of its type.
    begins = {(label[0], before[1:] == label[1:]) for sentence in labels
              for before, label in itertools.pairwise([OUTSIDE, *sentence]) if label != OUTSIDE}
    return IOB1 if ("I", False) in begins and ("B", False) not in begins else IOB2


def are_entity_labels(names):
    """Returns whether label names are IOB2 entity labels."""
    return any(map(ENTITY_LABEL.fullmatch, names))


def find_label_names(sentences, setting="label_column"):
    """Returns the labels defined by a training file, in the order of their IDs, a tuple of str.

    For entities: O, then B- and I- of each type, with types sorted. Otherwise: the labels that occur, sorted.

    Raises:
      InputError: If all words have the same label. The message names the file, and the `setting` of the labels.
    """
    names = set(itertools.chain(*sentences.labels))
    if len(names) < 2:
        raise InputError(f"{sentences.path}: all words have the label {names.pop()!r}; check `{setting}`")
    if not are_entity_labels(names):
        return tuple(sorted(names))
    types = sorted({name.split("-", 1)[1] for name in names - {OUTSIDE}})
    return OUTSIDE, *(f"{prefix}-{type_}" for type_ in types for prefix in "BI")


def write_predictions(path, sentences, labels):
    """Writes all rows of a file with the predicted labels, in their column or, if there is none, in an additional one.

    An additional column has the separator of the row. Rows that begin documents have the label O in it.

    Args:
      path: Path of the output file.
      sentences: Sentences.
      labels: List of str per sentence. Predicted labels.
    """
    by_line = dict(zip(itertools.chain(*sentences.lines), itertools.chain(*labels), strict=True))
    with new_file(path) as file:
        for line, row in enumerate(sentences.rows, start=1):
            if label := by_line.get(line, OUTSIDE if row.startswith(DOCUMENT_START) else None):
                if sentences.label_column is None:
                    row += ("\t" if "\t" in row else " ") + label
                else:
                    fields = row.split("\t")
                    fields[sentences.label_column] = label
                    row = "\t".join(fields)
            file.write(f"{row}\n")


def read_rows(path, decoder):
    """Yields lines without their ends; raises InputError if the file does not exist."""
    place = files.at(path)
    if not place.is_file():
        raise InputError(f"{path}: does not exist or is not a file")
    with place.open() as file:
        for line in decoder.lines(file, path):
            yield line.rstrip("\r\n")


def _group_rows(path, rows, columns):
    """Yields the sentences of a file: the number of the document, and a list of (line number, fields).

    Checks `columns`.
    """
    sentence, first, document = [], None, 0
    for line, row in enumerate(rows, start=1):
        is_word = row.strip(" \t") and not row.startswith(DOCUMENT_START)
        if is_word:
            fields = _split_fields(row)
            first = first or (line, len(fields))
            _check_row(path, line, fields, columns, *first)
            sentence.append((line, fields))
        elif sentence:
            yield document, sentence
            sentence = []
        document += row.startswith(DOCUMENT_START)
    if sentence:
        yield document, sentence


def _split_fields(row):
    return row.split("\t") if "\t" in row else re.split(" +", row)


def _check_row(path, line, fields, columns, first_line, width):
    if len(fields) != width:
        raise InputError(f"{path}:{line}: has {len(fields)} columns, but line {first_line} has {width}")
    for column in columns:
        if not -width <= column < width:
            raise InputError(f"{path}:{line}: column {column} does not exist; the row has {width} columns: 0 to "
                             f"{width - 1}, or {-width} to -1")
        if not (fields[column] if column == columns[0] else fields[column].strip()):
            raise InputError(f"{path}:{line}: column {column} is empty")
    if len({column % width for column in columns}) < len(columns):
        raise InputError(f"{path}:{line}: of {width} columns, {columns[0]} and {columns[1]} are the same; set "
                         "`token_column` and `label_column` to different columns")


def _check_entity_labels(path, lines, labels):
    """Raises InputError with file and line unless all labels are entity labels."""
    for line, label in zip(itertools.chain(*lines), itertools.chain(*labels), strict=True):
        if label != OUTSIDE and not ENTITY_LABEL.fullmatch(label):
            raise InputError(f"{path}:{line}: label {label!r}: must be O, or an entity type with the prefix B-, I-, "
                             "E-, or S-, as in other rows")
