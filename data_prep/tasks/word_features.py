"""Features of words with labels for token classification.

Rows are sentences, or overlapping windows over documents. With windows, the input for a word has
text on both of its sides. As in the original BERT for SQuAD contexts, each word counts in the
window with the most context around it.
"""

import bisect
import itertools
from typing import NamedTuple

import numpy as np

from bert_tf.errors import InputError
from bert_tf.features import FEATURES
from data_prep import tables
from data_prep.datasets.conll import DOCUMENT_START

IGNORED = -1  # Label ID of tokens that are excluded from loss and metrics.
UNKNOWN_WORD = -2  # Label ID of words with a label that training lacks: no loss, but misclassified.


class WordWindow(NamedTuple):
    """A range of words in a window, and the words of it that count, all numbered in a document.

    Attributes:
      start, stop: int. The words `start` to `stop` - 1 are in the window.
      first, last: int. The words `first` to `last` - 1 count in it.
    """

    start: int
    stop: int
    first: int
    last: int


def convert_sentences_to_features(
    sentences, names, tokenizer, max_seq_length, *, allow_unknown=False, document_context=False
):
    """Converts sentences to features.

    Splits longer sentences between words into rows that are as full as possible.

    With `document_context`, rows are windows over documents, whose sentences are concatenated
    without separators. A word has its label in only one of them.

    The first token of a word has its label. A word without tokens, for example one of control
    characters, becomes [UNK]. A word longer than a row is truncated. So each word has its label and
    its prediction in exactly one row.

    Args:
      sentences: data_prep.datasets.conll.Sentences.
      names: Label names in the order of their IDs.
      tokenizer: BertTokenizer.
      max_seq_length: int. Padded length of each row, S.
      allow_unknown: bool. Whether words can have labels not in `names`, with ID UNKNOWN_WORD, if
        others have known labels.
      document_context: bool. Whether rows include surrounding text of the same document.

    Returns:
      Tuple `(features, num_truncated)`. Features: dict of int32 [rows, S]: "input_ids";
      "input_mask", 1 for tokens and 0 for padding; "segment_ids", all 0; "label_ids", the label ID
      at the first token of each word (0 if the sentences have no labels), otherwise IGNORED.
      `num_truncated`: int, number of words that are longer than a row.

    Raises:
      InputError: If a label is not in `names`, or if `document_context` is set and no row begins a
        document. The message names the file, and the line if applicable.
    """
    label_ids = {name: number for number, name in enumerate(names)}
    if sentences.labels is not None:
        _check_known(sentences, label_ids, allow_unknown)
    max_tokens = max_seq_length - 2
    word_ids = tokenizer.tokenize(list(itertools.chain(*sentences.words))).to_list()
    word_ids = [token_ids or [tokenizer.unk_id] for token_ids in word_ids]
    num_truncated = sum(len(token_ids) > max_tokens for token_ids in word_ids)
    word_ids = [token_ids[:max_tokens] for token_ids in word_ids]
    if sentences.labels is None:
        labels = [0] * len(word_ids)
    else:
        labels = [
            label_ids.get(label, UNKNOWN_WORD) for label in itertools.chain(*sentences.labels)
        ]
    if document_context:
        bounds = _find_documents(sentences)
        split = compute_windows
    else:
        bounds = _find_sentences(sentences)
        split = _split_sentence
    rows = []  # IDs and label IDs of the tokens of each row.
    for start, stop in bounds:
        part_ids = word_ids[start:stop]
        part_labels = labels[start:stop]
        windows = split(list(map(len, part_ids)), max_tokens)
        rows += [_create_row(window, part_ids, part_labels) for window in windows]
    return _create_features(rows, tokenizer, max_seq_length), num_truncated


def _create_row(window, word_ids, labels):
    """Returns the IDs and the label IDs of the tokens of a window, two lists.

    Args:
      window: WordWindow.
      word_ids: List of the token IDs of each word.
      labels: List of the label ID of each word.
    """
    row_ids = []
    row_labels = []
    for word in range(window.start, window.stop):
        is_counted = window.first <= word < window.last
        row_labels.append(labels[word] if is_counted else IGNORED)
        row_labels += [IGNORED] * (len(word_ids[word]) - 1)
        row_ids += word_ids[word]
    return row_ids, row_labels


def _create_features(rows, tokenizer, max_seq_length):
    """Returns the features of rows of IDs and label IDs; see `convert_sentences_to_features`."""
    features = {
        name: np.zeros([len(rows), max_seq_length], np.int32) for name in (*FEATURES, "label_ids")
    }
    features["label_ids"][:] = IGNORED
    for row, (row_ids, row_labels) in enumerate(rows):
        end = len(row_ids) + 2
        features["input_ids"][row, :end] = [tokenizer.cls_id, *row_ids, tokenizer.sep_id]
        features["input_mask"][row, :end] = 1
        features["label_ids"][row, 1 : end - 1] = row_labels
    return features


def _find_sentences(sentences):
    """Yields start and stop of each sentence of Sentences among their words."""
    return itertools.pairwise(itertools.accumulate(map(len, sentences.words), initial=0))


def _find_documents(sentences):
    """Yields start and stop of each document of Sentences among their words."""
    if not any(sentences.documents or ()):
        raise InputError(
            f"requires rows that begin with {DOCUMENT_START}, one per document, but "
            f"{sentences.path} contains none",
            "document_context",
            True,
        )
    bounds = zip(sentences.documents, _find_sentences(sentences), strict=True)
    for _, group in itertools.groupby(bounds, lambda document: document[0]):
        group = [bound for _, bound in group]
        yield group[0][0], group[-1][1]


def _split_sentence(lengths, max_tokens):
    """Splits a sentence into parts that are as full as possible, a list of WordWindow.

    For arguments, see `compute_windows`. All words of a part count.
    """
    starts = [0]
    room = max_tokens
    for word, length in enumerate(lengths):
        if length > room:
            starts.append(word)
            room = max_tokens
        room -= length
    bounds = itertools.pairwise([*starts, len(lengths)])
    return [WordWindow(start, stop, start, stop) for start, stop in bounds]


def compute_windows(lengths, max_tokens):
    """Returns the windows of a document, as long as possible.

    Each begins half a window after the previous one. The last window ends with the document, and
    begins earlier if there is space.

    Args:
      lengths: List of int. Number of tokens of each word, from 1 to `max_tokens`.
      max_tokens: int. Maximum number of tokens in a window.

    Returns:
      List of WordWindow. Each word counts once, in the order of the windows.
    """
    offsets = [0, *itertools.accumulate(lengths)]  # Start of each word, and end of the last one.
    num_words = len(lengths)
    bounds = []
    start = 0
    while True:
        stop = bisect.bisect_right(offsets, offsets[start] + max_tokens) - 1
        if stop >= num_words:
            break
        # Before a long word, a window can be inside the previous one.
        if not bounds or stop > bounds[-1][1]:
            bounds.append((start, stop))
        half = bisect.bisect_left(offsets, offsets[start] + max_tokens // 2)
        # Every word must be in a window, however long words are.
        start = min(stop, max(start + 1, half))
    bounds.append((bisect.bisect_left(offsets, offsets[-1] - max_tokens), num_words))
    # Best window of each word; the first for ties.
    best = []
    number = 0
    for word in range(num_words):
        while number + 1 < len(bounds) and (
            _count_context(offsets, word, *bounds[number + 1])
            > _count_context(offsets, word, *bounds[number])
        ):
            number += 1
        best.append(number)
    counted = [
        (bisect.bisect_left(best, number), bisect.bisect_right(best, number))
        for number in range(len(bounds))
    ]
    return [
        WordWindow(*bound, first, last)
        for bound, (first, last) in zip(bounds, counted, strict=True)
        if first < last
    ]


def _count_context(offsets, word, start, stop):
    """Counts the tokens between a word and the nearer edge of a window.

    The count is negative if the window does not contain the word.
    """
    return min(offsets[word] - offsets[start], offsets[stop] - offsets[word + 1])


def _check_known(sentences, ids, allow_unknown):
    """Raises InputError with file and line unless all labels are in `ids`.

    With `allow_unknown`, one of them is sufficient.
    """
    unknown = [
        (line, label)
        for line, label in zip(
            itertools.chain(*sentences.lines), itertools.chain(*sentences.labels), strict=True
        )
        if label not in ids
    ]
    if unknown and not (allow_unknown and len(unknown) < sentences.num_words):
        line, label = unknown[0]
        raise InputError(
            f"{sentences.path}:{line}: unknown label {label!r}; the training data has the labels "
            f"{tables.list_names(ids)}"
        )
