"""Features of words with one label each: rows of sentences, or overlapping windows over documents.

A word in several windows counts in the one with the most context around it, as in the original BERT for SQuAD contexts.
"""

import bisect
import dataclasses
import itertools

import numpy as np

from bert_tf.errors import InputError
from data_prep.tasks import conll, tables

IGNORED = -1  # Label ID of tokens that are excluded from loss and metrics.
UNKNOWN_WORD = -2  # Label ID of words with a label that training lacks: no loss, but misclassified.
WORDS_AT_A_TIME = 1 << 14


@dataclasses.dataclass(frozen=True)
class WordRange:
    """The words `start` to `stop` - 1 of a document, in a window. The words `first` to `last` - 1 count in it."""

    start: int
    stop: int
    first: int
    last: int


def convert_sentences_to_features(sentences, names, tokenizer, max_seq_length, allow_unknown=False,
                                  document_context=False):
    """Converts sentences to features. Splits longer sentences between words into rows that are as full as possible.

    With `document_context`, rows are overlapping windows over documents, whose sentences are
    concatenated without separators. A word has its label in only one of them.

    The first token of a word has its label. A word without tokens, for example one of control characters, becomes
    [UNK]. A word longer than a row is truncated. So each word has its label and its prediction in exactly one place.

    Args:
      sentences: Sentences.
      names: Label names in the order of their IDs.
      tokenizer: BertTokenizer.
      max_seq_length: int. Padded length of each row, S.
      allow_unknown: bool. Whether words can have labels not in `names`, with ID UNKNOWN_WORD, if others have known
        labels.
      document_context: bool. Whether rows include surrounding text of the same document.

    Returns:
      Dict of int32 [rows, S], and the number of truncated words. "input_ids"; "input_mask", 1 for tokens and 0 for
      padding; "segment_ids", all 0; "label_ids", the label ID at the first token of each word (0 if the sentences have
      no labels), otherwise IGNORED.

    Raises:
      InputError: If a label is not in `names`, or if `document_context` is set and no row begins a document. The
        message names the file, and the line if applicable.
    """
    ids = {name: number for number, name in enumerate(names)}
    if sentences.labels is not None:
        _check_known(sentences, ids, allow_unknown)
    max_tokens = max_seq_length - 2
    word_ids = list(_tokenize_words(itertools.chain(*sentences.words), tokenizer))
    num_truncated = sum(len(token_ids) > max_tokens for token_ids in word_ids)
    labels = itertools.chain(*sentences.labels) if sentences.labels is not None else [names[0]] * len(word_ids)
    words = [(token_ids[:max_tokens], ids.get(label, UNKNOWN_WORD))
             for token_ids, label in zip(word_ids, labels, strict=True)]
    if document_context:
        rows = itertools.chain.from_iterable(
            _split_document(words[start:stop], max_tokens) for start, stop in _find_documents(sentences))
    else:
        starts = itertools.accumulate(map(len, sentences.words), initial=0)
        rows = itertools.chain.from_iterable(
            _split_sentence(words[start:stop], max_tokens) for start, stop in itertools.pairwise(starts))
    return _create_features(list(rows), tokenizer, max_seq_length), num_truncated


def _split_sentence(words, max_tokens):
    """Yields the rows of a sentence, (IDs, label IDs) of their tokens each; words: list of (IDs, label ID)."""
    row = []
    for word in words:
        if sum(len(ids) for ids, _ in row) + len(word[0]) > max_tokens:
            yield _join_words(row)
            row = []
        row.append(word)
    yield _join_words(row)


def _split_document(words, max_tokens):
    """Yields the rows of a document, like `_split_sentence`. Words whose label is in another row have none."""
    for window in compute_windows([len(ids) for ids, _ in words], max_tokens):
        yield _join_words([
            (ids, label if window.first <= number < window.last else IGNORED)
            for number, (ids, label) in enumerate(words[window.start : window.stop], start=window.start)])


def _join_words(words):
    """Returns (IDs, label IDs) of the tokens of words, lists of int."""
    row_ids = list(itertools.chain(*(ids for ids, _ in words)))
    return row_ids, list(itertools.chain(*([label, *[IGNORED] * (len(ids) - 1)] for ids, label in words)))


def _find_documents(sentences):
    """Yields start and stop of each document in Sentences among their words."""
    if not any(sentences.documents or ()):
        raise InputError(f"`document_context`=True: requires rows that begin with {conll.DOCUMENT_START}, one per "
                         f"document, but {sentences.path} contains none")
    start = 0
    for _, group in itertools.groupby(zip(sentences.documents, sentences.words, strict=True), lambda pair: pair[0]):
        stop = start + sum(len(words) for _, words in group)
        yield start, stop
        start = stop


def _create_features(rows, tokenizer, max_seq_length):
    """Returns the features of convert_sentences_to_features for rows of (IDs, label IDs) of their tokens."""
    features = {name: np.zeros([len(rows), max_seq_length], np.int32)
                for name in ("input_ids", "input_mask", "segment_ids", "label_ids")}
    features["label_ids"][:] = IGNORED
    for row, (row_ids, row_labels) in enumerate(rows):
        end = len(row_ids) + 2
        features["input_ids"][row, :end] = [tokenizer.cls_id, *row_ids, tokenizer.sep_id]
        features["input_mask"][row, :end] = 1
        features["label_ids"][row, 1 : end - 1] = row_labels
    return features


def compute_windows(lengths, max_tokens):
    """Returns the windows of a document, as long as possible. Each begins half a window after the previous one.

    The last window ends with the document, and begins earlier if there is space.

    Args:
      lengths: List of int. Number of tokens of each word, from 1 to `max_tokens`.
      max_tokens: int. Maximum number of tokens in a window.

    Returns:
      List of WordRange. Each word counts once, in the order of the windows.
    """
    offsets = [0, *itertools.accumulate(lengths)]  # Start of each word, and end of the last one.
    num_words, bounds = len(lengths), []
    start = 0
    while True:
        stop = bisect.bisect_right(offsets, offsets[start] + max_tokens) - 1
        if stop >= num_words:
            break
        if not bounds or stop > bounds[-1][1]:  # Otherwise inside the previous one, before a long word.
            bounds.append((start, stop))
        # Every word must be in a window, however long words are.
        start = min(stop, max(start + 1, bisect.bisect_left(offsets, offsets[start] + max_tokens // 2)))
    bounds.append((bisect.bisect_left(offsets, offsets[-1] - max_tokens), num_words))
    best, number = [], 0  # Best window of each word; the first for ties.
    for word in range(num_words):
        while number + 1 < len(bounds) and (
                _count_context(offsets, word, *bounds[number + 1]) > _count_context(offsets, word, *bounds[number])):
            number += 1
        best.append(number)
    windows = [WordRange(*bound, bisect.bisect_left(best, number), bisect.bisect_right(best, number))
             for number, bound in enumerate(bounds)]
    return [window for window in windows if window.first < window.last]


def _count_context(offsets, word, start, stop):
    """Counts the tokens between a word and the nearer edge of a window; negative if it does not contain the word."""
    return min(offsets[word] - offsets[start], offsets[stop] - offsets[word + 1])


def _check_known(sentences, ids, allow_unknown):
    """Raises InputError with file and line unless all labels are in `ids`, or some if `allow_unknown`."""
    unknown = [(line, label) for line, label in zip(
        itertools.chain(*sentences.lines), itertools.chain(*sentences.labels), strict=True) if label not in ids]
    if unknown and not (allow_unknown and len(unknown) < sentences.num_words):
        line, label = unknown[0]
        raise InputError(f"{sentences.path}:{line}: unknown label {label!r}; the training data has the labels "
                         f"{tables.list_names(ids)}")


def _tokenize_words(words, tokenizer):
    """Yields the IDs of each word's tokens, a list of at least one int."""
    words = iter(words)
    while batch := list(itertools.islice(words, WORDS_AT_A_TIME)):
        for ids in tokenizer.tokenize(batch).to_list():
            yield ids or [tokenizer.unk_id]
