"""Sentences with a label for each word, in columns as CoNLL-2003 has them: files -> features, and predictions -> files.

A file has a word a row, its columns divided by tabs or, where a row has none, by spaces; an empty line ends a sentence,
and rows that begin with -DOCSTART-, where a document begins, are left out. Entity labels may be in IOB1, IOB2, or IOBES
(BIOES); all are read into IOB2 (B- begins an entity, I- continues it, O is outside), and predictions are written in the
scheme of the file.
Labels without such prefixes, as parts of speech, stay as they are.
"""

import dataclasses
import itertools
import re

import numpy as np

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.files import new_file
from data_prep.tasks import document_windows

DOCUMENT_START = "-DOCSTART-"
OUTSIDE = "O"
IGNORED = -1  # the label id of pieces that take no part in loss and metric
UNKNOWN = -2  # of a word with a label that training lacks: it takes no part in the loss, and counts as wrong
WORDS_AT_A_TIME = 1 << 14

IOB1, IOB2, IOBES = "IOB1", "IOB2", "IOBES"
ENTITY_LABEL = re.compile(r"([BIES])-(.+)")


@dataclasses.dataclass(frozen=True)
class Sentences:
    """The sentences of a file; each attribute but `path` and `rows` has one list a sentence, with one item a word.

    Attributes:
      path: of the file.
      rows: List of str. All rows of the file, without line ends.
      lines: number of the row's line, counted from 1.
      words: str.
      labels: str, in IOB2 if they are of entities; None where they were not read.
      num_garbled: not a list: how many lines had bytes that are not UTF-8, which were dropped.
      documents: of each sentence how many rows -DOCSTART- come before it, int; None where that is not known.
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
        return sum(map(len, self.words))


def read_sentences(path, token_column=0, label_column=None):
    """Reads a file.

    Args:
      path: of the file.
      token_column: position of the word among the columns, from 0; negative from the last, -1.
      label_column: position of the label; None to read no labels.

    Returns:
      Sentences.

    Raises:
      InputError: naming the file, where it is missing or has no words; naming file and line, where a row has another
        number of columns than the first one, or lacks a column that is read; where a word or a label is empty, or some
        labels have the prefixes of entities and this one has not.
    """
    lines, words, labels, documents = [], [], [], []
    columns, decoder = (token_column,) if label_column is None else (token_column, label_column), files.LineDecoder()
    rows = list(_decoded_rows(path, decoder))
    for document, sentence in _sentences(path, rows, columns):
        documents.append(document)
        lines.append([line for line, _ in sentence])
        words.append([fields[token_column] for _, fields in sentence])
        if label_column is not None:
            labels.append([fields[label_column] for _, fields in sentence])
    if not words:
        raise InputError(f"{path}: has no words")
    if label_column is None:
        return Sentences(path, rows, lines, words, None, decoder.num_garbled, documents)
    if any(map(ENTITY_LABEL.fullmatch, itertools.chain(*labels))):
        _check_entity_labels(path, lines, labels)
        labels = [to_iob2(each) for each in labels]
    return Sentences(path, rows, lines, words, labels, decoder.num_garbled, documents)


def to_iob2(labels):
    """The IOB2 labels of a sentence whose labels are in IOB1, IOB2 or IOBES, list of str.

    An entity begins where these schemes, read leniently as by conlleval, say so: at B- and S-, and at an I- or E- that
    follows no entity of its type. So any sequence gives a valid one.
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
    labels = [[_fields(sentences.rows[line - 1]) for line in lines] for lines in sentences.lines]
    width = len(labels[0][0])
    if not -width <= label_column < width:
        return IOB2
    labels = [[fields[label_column] for fields in sentence] for sentence in labels]
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
    """Whether label names are of entities, in IOB2."""
    return any(map(ENTITY_LABEL.fullmatch, names))


def label_names(sentences):
    """The labels that a training file defines, in the order of their ids, tuple of str.

    Of entities: O, then B- and I- of each type, types sorted. Others: those that occur, sorted.

    Raises:
      InputError: naming the file, where all words have one label.
    """
    names = set(itertools.chain(*sentences.labels))
    if len(names) < 2:
        raise InputError(f"{sentences.path}: all words have the label {names.pop()!r}: is another column meant?")
    if not are_entity_labels(names):
        return tuple(sorted(names))
    types = sorted({name.split("-", 1)[1] for name in names - {OUTSIDE}})
    return OUTSIDE, *(f"{prefix}-{type_}" for type_ in types for prefix in "BI")


def convert_sentences_to_features(sentences, names, tokenizer, max_seq_length, allow_unknown=False,
                                  document_context=False):
    """Features of sentences; one that is too long is divided, between words, into rows as full as they can be.

    With `document_context` rows are windows over documents (data_prep.tasks.document_windows), whose sentences follow
    one another without a mark; a word has its label in one of them.

    A word's first piece has its label. A word without any piece, as one of control characters, is taken for [UNK]; one
    longer than a row loses its last pieces. So each word has its label, and its prediction, in one place.

    Args:
      sentences: Sentences.
      names: label names in the order of their ids.
      tokenizer: BertTokenizer.
      max_seq_length: length that each row is padded to, S.
      allow_unknown: whether words may have labels that are none of `names`, if others have some; their id is UNKNOWN.
      document_context: whether rows are to hold the text around, of the same document.

    Returns:
      dict of int32 [rows, S]: "input_ids"; "input_mask", 1 for a piece and 0 for padding; "segment_ids", all 0; and
      "label_ids", at the first piece of each word the label's id, or 0 where the sentences have no labels, elsewhere
      IGNORED. And the number of words that lost pieces.

    Raises:
      InputError: naming file and line, where a label is none of `names`; naming the file, where no row tells of
        documents and their context is asked for.
    """
    ids = {name: number for number, name in enumerate(names)}
    if sentences.labels is not None:
        _check_known(sentences, ids, allow_unknown)
    room = max_seq_length - 2
    pieces = list(_pieces_of_words(itertools.chain(*sentences.words), tokenizer))
    num_cut = sum(len(of_word) > room for of_word in pieces)
    labels = itertools.chain(*sentences.labels) if sentences.labels is not None else [names[0]] * len(pieces)
    words = [(of_word[:room], ids.get(label, UNKNOWN)) for of_word, label in zip(pieces, labels, strict=True)]
    if document_context:
        rows = itertools.chain.from_iterable(
            _windows(words[start:stop], room) for start, stop in _documents(sentences))
    else:
        starts = itertools.accumulate(map(len, sentences.words), initial=0)
        rows = itertools.chain.from_iterable(
            _divided(words[start:stop], room) for start, stop in itertools.pairwise(starts))
    return _features(list(rows), tokenizer, max_seq_length), num_cut


def _divided(words, room):
    """Yields the rows of a sentence, (ids, label ids) of their pieces each; words: list of (ids, label id)."""
    row = []
    for word in words:
        if sum(len(ids) for ids, _ in row) + len(word[0]) > room:
            yield _row(row)
            row = []
        row.append(word)
    yield _row(row)


def _windows(words, room):
    """Yields the rows of a document as `_divided` those of a sentence; words that count in others have no label."""
    for window in document_windows.windows_of([len(ids) for ids, _ in words], room):
        yield _row([(ids, label if window.first <= number < window.last else IGNORED)
                    for number, (ids, label) in enumerate(words[window.start : window.stop], start=window.start)])


def _row(words):
    """(ids, label ids) of the pieces of words, lists of int."""
    row_ids = list(itertools.chain(*(ids for ids, _ in words)))
    return row_ids, list(itertools.chain(*([label, *[IGNORED] * (len(ids) - 1)] for ids, label in words)))


def _documents(sentences):
    """Yields where each document of Sentences begins and ends among their words."""
    if not any(sentences.documents or ()):
        raise InputError(f"`document_context`: {sentences.path} has no row that begins with {DOCUMENT_START}, where a "
                         "document begins")
    start = 0
    for _, group in itertools.groupby(zip(sentences.documents, sentences.words, strict=True), lambda pair: pair[0]):
        stop = start + sum(len(words) for _, words in group)
        yield start, stop
        start = stop


def _features(rows, tokenizer, max_seq_length):
    """The features of convert_sentences_to_features for rows, (ids, label ids) of their pieces each."""
    features = {name: np.zeros([len(rows), max_seq_length], np.int32)
                for name in ("input_ids", "input_mask", "segment_ids", "label_ids")}
    features["label_ids"][:] = IGNORED
    for row, (row_ids, row_labels) in enumerate(rows):
        end = len(row_ids) + 2
        features["input_ids"][row, :end] = [tokenizer.cls_id, *row_ids, tokenizer.sep_id]
        features["input_mask"][row, :end] = 1
        features["label_ids"][row, 1 : end - 1] = row_labels
    return features


def lengths_of_parts(sentences, most):
    """Words of each sentence, list of int; one of more than `most` words is divided into parts as long as they may be.

    Args:
      sentences: Sentences.
      most: int.
    """
    return [min(most, len(words) - start) for words in sentences.words for start in range(0, len(words), most)]


def features_of_words(label_ids, lengths):
    """Features with a position a word, in place of one a piece.

    Args:
      label_ids: int [words].
      lengths: of the rows into which they are cut, list of int.

    Returns:
      dict of int32 [rows, longest]: "input_mask", 1 for a word and 0 for padding, and "label_ids", there IGNORED.
    """
    mask = np.arange(max(lengths)) < np.array(lengths)[:, np.newaxis]
    labels = np.full(mask.shape, IGNORED, np.int32)
    labels[mask] = label_ids
    return {"input_mask": mask.astype(np.int32), "label_ids": labels}


def of_words(values, label_ids):
    """What an array holds at the first pieces of words, in their order: [rows, S, ...], [rows, S] -> [words, ...]."""
    return values[label_ids != IGNORED]


def by_sentence(values, sentences):
    """Cuts a list with an item for each word into a list for each sentence."""
    values = iter(values)
    return [list(itertools.islice(values, len(words))) for words in sentences.words]


def write_predictions(path, sentences, labels):
    """Writes all rows of a file, and in one more column the predicted labels, or O for rows that begin documents.

    Args:
      path: of the file to write.
      sentences: Sentences.
      labels: for each sentence the predicted labels, a list of str.
    """
    by_line = dict(zip(itertools.chain(*sentences.lines), itertools.chain(*labels), strict=True))
    with new_file(path) as file:
        for line, row in enumerate(sentences.rows, start=1):
            if label := by_line.get(line, OUTSIDE if row.startswith(DOCUMENT_START) else None):
                row += f"{_separator(row)}{label}"
            file.write(f"{row}\n")


def _sentences(path, rows, columns):
    """Yields the sentences of a file, of each the number of its document and a list of (line number, its fields).

    `columns` are checked.
    """
    sentence, first, document = [], None, 0
    for line, row in enumerate(rows, start=1):
        is_word = row.strip(" \t") and not row.startswith(DOCUMENT_START)
        if is_word:
            fields = _fields(row)
            first = first or (line, len(fields))
            _check_row(path, line, fields, columns, *first)
            sentence.append((line, fields))
        elif sentence:
            yield document, sentence
            sentence = []
        document += row.startswith(DOCUMENT_START)
    if sentence:
        yield document, sentence


def _fields(row):
    return row.split("\t") if "\t" in row else re.split(" +", row)


def _decoded_rows(path, decoder):
    """Yields lines without their ends; where spaces divide columns, without those around the row."""
    if not files.is_file(path):
        raise InputError(f"{path}: no such file")
    with files.open_bytes(path) as file:
        for number, line in enumerate(file, start=1):
            row = decoder(line, number == 1).rstrip("\r\n")
            yield row if "\t" in row else row.strip(" ")


def _check_row(path, line, fields, columns, first_line, width):
    if len(fields) != width:
        raise InputError(f"{path}:{line}: {width} columns are expected, as in line {first_line}, {len(fields)} found")
    for column in columns:
        if not -width <= column < width:
            raise InputError(f"{path}:{line}: there is no column {column}: the row has {width}, 0 to {width - 1}, or "
                             f"from the last -1 to {-width}")
        if not fields[column]:
            raise InputError(f"{path}:{line}: column {column} is empty")
    if len({column % width for column in columns}) < len(columns):
        raise InputError(f"{path}:{line}: column {columns[0]} is {columns[1]} too, of {width}: a word and a label are "
                         "expected in columns of their own")


def _separator(row):
    return "\t" if "\t" in row else " "


def _check_entity_labels(path, lines, labels):
    """Raises InputError, naming file and line, unless all labels are of entities."""
    for line, label in zip(itertools.chain(*lines), itertools.chain(*labels), strict=True):
        if label != OUTSIDE and not ENTITY_LABEL.fullmatch(label):
            raise InputError(f"{path}:{line}: label {label!r}: O, or B-, I-, E- or S- before the type of an entity is "
                             "expected, as in other rows")


def _check_known(sentences, ids, allow_unknown):
    """Raises InputError, naming file and line, unless all labels are keys of `ids`, or some, where that is allowed."""
    unknown = [(line, label) for line, label in zip(
        itertools.chain(*sentences.lines), itertools.chain(*sentences.labels), strict=True) if label not in ids]
    if unknown and not (allow_unknown and len(unknown) < sentences.num_words):
        line, label = unknown[0]
        raise InputError(f"{sentences.path}:{line}: label {label!r} is unknown: the labels of the training data "
                         f"are {', '.join(ids)}")


def _pieces_of_words(words, tokenizer):
    """Yields the ids of each word's pieces, a list of at least one int."""
    words = iter(words)
    while batch := list(itertools.islice(words, WORDS_AT_A_TIME)):
        for ids in tokenizer.tokenize(batch).to_list():
            yield ids or [tokenizer.unk_id]
