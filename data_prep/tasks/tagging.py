"""Tagging the words of sentences, as CoNLL-2003's named entities: files -> features, and predictions -> files.

A file has a word a row, its columns divided by tabs or, where a row has none, by spaces; an empty line ends a sentence,
and rows that begin with -DOCSTART- are left out. Entity labels may be in IOB1, IOB2, or IOBES (BIOES); all are read
into IOB2 (B- begins an entity, I- continues it, O is outside), and predictions are written so. Labels without such
prefixes, as parts of speech, stay as they are.
"""

import dataclasses
import itertools
import re

import numpy as np

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.files import new_file

DOCUMENT_START = "-DOCSTART-"
OUTSIDE = "O"
IGNORED = -1  # the label id of pieces that take no part in loss and metric
UNKNOWN = -2  # of a word with a label that training lacks: it takes no part in the loss, and counts as wrong
WORDS_AT_A_TIME = 1 << 14

ENTITY_LABEL = re.compile(r"([BIES])-(.+)")


@dataclasses.dataclass(frozen=True)
class Sentences:
    """The sentences of a file; each attribute but `path` has one list a sentence, with one item a word.

    Attributes:
      path: of the file.
      rows: the row as it stands in the file, str without its line end.
      lines: number of the row's line, counted from 1.
      words: str.
      labels: str, in IOB2 if they are of entities; None where they were not read.
      num_garbled: not a list: how many lines had bytes that are not UTF-8, which were dropped.
    """

    path: str
    rows: list
    lines: list
    words: list
    labels: list | None
    num_garbled: int = 0

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
    rows, lines, words, labels = [], [], [], []
    columns, decoder = (token_column,) if label_column is None else (token_column, label_column), files.LineDecoder()
    for sentence in _sentences(path, columns, decoder):
        rows.append([text for _, text, _ in sentence])
        lines.append([line for line, _, _ in sentence])
        words.append([fields[token_column] for _, _, fields in sentence])
        if label_column is not None:
            labels.append([fields[label_column] for _, _, fields in sentence])
    if not words:
        raise InputError(f"{path}: has no words")
    if label_column is None:
        return Sentences(path, rows, lines, words, None, decoder.num_garbled)
    if any(map(ENTITY_LABEL.fullmatch, itertools.chain(*labels))):
        _check_entity_labels(path, lines, labels)
        labels = [to_iob2(each) for each in labels]
    return Sentences(path, rows, lines, words, labels, decoder.num_garbled)


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


def convert_sentences_to_features(sentences, names, tokenizer, max_seq_length, allow_unknown=False):
    """Features of sentences; one that is too long is divided, between words, into rows as full as they can be.

    A word's first piece has its label. A word without any piece, as one of control characters, is taken for [UNK]; one
    longer than a row loses its last pieces. So each word has its label, and its prediction, in one place.

    Args:
      sentences: Sentences.
      names: label names in the order of their ids.
      tokenizer: BertTokenizer.
      max_seq_length: length that each row is padded to, S.
      allow_unknown: whether words may have labels that are none of `names`, if others have some; their id is UNKNOWN.

    Returns:
      dict of int32 [rows, S]: "input_ids"; "input_mask", 1 for a piece and 0 for padding; "segment_ids", all 0; and
      "label_ids", at the first piece of each word the label's id, or 0 where the sentences have no labels, elsewhere
      IGNORED. And the number of words that lost pieces.

    Raises:
      InputError: naming file and line, where a label is none of `names`.
    """
    ids = {name: number for number, name in enumerate(names)}
    if sentences.labels is not None:
        _check_known(sentences, ids, allow_unknown)
    room = max_seq_length - 2
    pieces = _pieces_of_words(itertools.chain(*sentences.words), tokenizer)
    rows, num_cut = [], 0
    for number, words in enumerate(sentences.words):
        labels = sentences.labels[number] if sentences.labels is not None else [names[0]] * len(words)
        row_ids, row_labels = [], []
        for label, of_word in zip(labels, pieces, strict=False):  # takes no more pieces than the sentence has words
            num_cut += len(of_word) > room
            of_word = of_word[:room]
            if len(row_ids) + len(of_word) > room:
                rows.append((row_ids, row_labels))
                row_ids, row_labels = [], []
            row_ids += of_word
            row_labels += [ids.get(label, UNKNOWN), *[IGNORED] * (len(of_word) - 1)]
        rows.append((row_ids, row_labels))
    features = {name: np.zeros([len(rows), max_seq_length], np.int32)
                for name in ("input_ids", "input_mask", "segment_ids", "label_ids")}
    features["label_ids"][:] = IGNORED
    for row, (row_ids, row_labels) in enumerate(rows):
        end = len(row_ids) + 2
        features["input_ids"][row, :end] = [tokenizer.cls_id, *row_ids, tokenizer.sep_id]
        features["input_mask"][row, :end] = 1
        features["label_ids"][row, 1 : end - 1] = row_labels
    return features, num_cut


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
    """Writes the rows of a file with a column more, divided from them as they are: what was predicted.

    Args:
      path: of the file to write.
      sentences: Sentences.
      labels: for each sentence the predicted labels, a list of str.
    """
    with new_file(path) as file:
        for rows, of_sentence in zip(sentences.rows, labels, strict=True):
            for row, label in zip(rows, of_sentence, strict=True):
                file.write(f"{row}{_separator(row)}{label}\n")
            file.write("\n")


def _sentences(path, columns, decoder):
    """Yields the sentences of a file, each a list of (line number, row, its fields); `columns` are checked."""
    sentence, first = [], None
    for line, row in _decoded_rows(path, decoder):
        is_word = row.strip(" \t") and not row.startswith(DOCUMENT_START)
        if is_word:
            fields = row.split("\t") if "\t" in row else re.split(" +", row)
            first = first or (line, len(fields))
            _check_row(path, line, fields, columns, *first)
            sentence.append((line, row, fields))
        elif sentence:
            yield sentence
            sentence = []
    if sentence:
        yield sentence


def _decoded_rows(path, decoder):
    """Yields (line number, line without its end); where spaces divide columns, without those around the row."""
    if not files.is_file(path):
        raise InputError(f"{path}: no such file")
    with files.open_bytes(path) as file:
        for number, line in enumerate(file, start=1):
            row = decoder(line, number == 1).rstrip("\r\n")
            yield number, row if "\t" in row else row.strip(" ")


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
