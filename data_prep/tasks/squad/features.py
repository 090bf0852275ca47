"""Conversion of questions and contexts to windows of IDs, the features of run_squad.py."""

import collections
import dataclasses
import itertools
from typing import NamedTuple

import numpy as np

from bert_tf.errors import InputError
from bert_tf.features import FEATURES
from bert_tf.files import replace_surrogates
from bert_tf.tasks.span_labeler.decoding import find_fullest_windows, list_windows
from data_prep import records
from data_prep.datasets.squad import split_words

FIRST_UNIQUE_ID = 1_000_000_000  # As in the original BERT.
EXAMPLES_AT_A_TIME = 512
RECORDS_AT_A_TIME = 256


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class WindowFeatures:
    """A window of a context after its question.

    Attributes have the names of the original BERT's `InputFeatures`. The tokens are [CLS] question
    [SEP] window [SEP]. Arrays of full length are computed on access.

    Attributes:
      unique_id: int. Number of the window, starting at FIRST_UNIQUE_ID.
      example_index: int. 0-based number of its example.
      doc_span_index: int. 0-based number of the window in its context.
      token_ids: int32 [T]. IDs without padding.
      context_start: int. Position in `token_ids` at which the window begins.
      words: int32 [window]. Word of the context for each token of the window.
      is_max_context: bool [window]. Whether no other window has more context for that token.
      max_seq_length: int. Length of the padded arrays, S.
      vocabulary: List of str. Token of each ID.
      start_position, end_position: int. For training, positions of the answer's first and last
        token; both 0, [CLS], if there is no answer or the window does not contain it completely.
      is_impossible: bool. Same as in the example.
    """

    unique_id: int
    example_index: int
    doc_span_index: int
    token_ids: np.ndarray
    context_start: int
    words: np.ndarray
    is_max_context: np.ndarray
    max_seq_length: int
    vocabulary: list = dataclasses.field(repr=False)
    start_position: int | None = None
    end_position: int | None = None
    is_impossible: bool = False

    @property
    def tokens(self):
        """The tokens without padding, a list of str."""
        return [self.vocabulary[token_id] for token_id in self.token_ids]

    @property
    def token_to_orig_map(self):
        """Dict of the position of each context token to its index in `Example.doc_tokens`."""
        return dict(enumerate(self.words.tolist(), self.context_start))

    @property
    def token_is_max_context(self):
        """Dict of the position of each token in the window to bool."""
        return dict(enumerate(self.is_max_context.tolist(), self.context_start))

    @property
    def input_ids(self):
        """int32 [S]."""
        return _pad([self])["input_ids"][0]

    @property
    def input_mask(self):
        """int32 [S], 1 for tokens and 0 for padding."""
        return _pad([self])["input_mask"][0]

    @property
    def segment_ids(self):
        """int32 [S], 1 for the window and the [SEP] after it."""
        return _pad([self])["segment_ids"][0]


def convert_examples_to_features(
    examples, tokenizer, max_seq_length, doc_stride, max_query_length, *, is_training, counts=None
):
    """Divides contexts into overlapping windows, each after its question.

    Does the same as the original BERT's function: tokenizes the words of a context separately, but
    each distinct word only once.

    Args:
      examples: List of Example.
      tokenizer: BertTokenizer.
      max_seq_length: int. Length of padded features, S.
      doc_stride: int. Tokens between the starts of two windows, or the length of a window that is
        shorter.
      max_query_length: int. Length in tokens to which questions are truncated.
      is_training: bool. Whether features have the positions of the answer.
      counts: Counter, or None. Its "windows" and "long_questions" increase by the windows and
        truncated questions.

    Yields:
      WindowFeatures, which are created on demand. A context without words has none.

    Raises:
      InputError: See `check_lengths`.
    """
    check_lengths(max_seq_length, doc_stride, max_query_length)
    counts = collections.Counter() if counts is None else counts
    vocabulary = tokenizer.vocabulary
    unique_ids = itertools.count(FIRST_UNIQUE_ID)
    for index, question in enumerate(_tokenize_questions(examples, tokenizer, is_training)):
        counts["long_questions"] += len(question.token_ids) > max_query_length
        token_ids = question.context_ids
        begin = np.concatenate(
            [[tokenizer.cls_id], question.token_ids[:max_query_length], [tokenizer.sep_id]]
        )
        # With the [SEP] after the window, three special tokens, as in the original BERT.
        windows, _ = list_windows(len(token_ids), max_seq_length - len(begin) - 1, doc_stride)
        fullest = find_fullest_windows(windows)
        for number, (first, length) in enumerate(windows if len(token_ids) else ()):
            tokens = slice(first, first + length)
            span = question.answer_span
            positions = (0, 0) if is_training else (None, None)
            if span and first <= span[0] and span[1] < first + length:
                positions = [position - first + len(begin) for position in span]
            yield WindowFeatures(
                next(unique_ids),
                index,
                number,
                np.concatenate([begin, token_ids[tokens], begin[-1:]]).astype(np.int32),
                len(begin),
                question.context_words[tokens],
                fullest[tokens] == number,
                max_seq_length,
                vocabulary,
                *positions,
                examples[index].is_impossible,
            )
            counts["windows"] += 1


def check_lengths(max_seq_length, doc_stride, max_query_length):
    """Raises InputError, with the flag, if contexts of these lengths cannot be divided."""
    if max_seq_length <= max_query_length + 3:
        raise InputError(
            f"must be greater than `max_query_length` + 3, which is {max_query_length + 3}, so "
            "that some context fits after the longest question",
            "max_seq_length",
            max_seq_length,
        )
    if doc_stride < 1:
        raise InputError("must be at least 1", "doc_stride", doc_stride)


def record_features(max_seq_length, is_training):
    """Returns the features of a record, a tuple of Feature with the original BERT's names."""
    lengths = {
        "unique_ids": 1,
        "input_ids": max_seq_length,
        "input_mask": max_seq_length,
        "segment_ids": max_seq_length,
    }
    if is_training:
        lengths |= {"start_positions": 1, "end_positions": 1, "is_impossible": 1}
    return tuple(records.Feature(name, length) for name, length in lengths.items())


def write_window_records(path, features, max_seq_length, is_training):
    """Writes an iterable of WindowFeatures in batches to a TFRecord file; returns their number."""
    features = iter(features)
    with records.RecordWriter(path, record_features(max_seq_length, is_training)) as writer:
        while batch := list(itertools.islice(features, RECORDS_AT_A_TIME)):
            writer.write(create_arrays(batch))
        return writer.num_records


def create_arrays(features):
    """Converts a list of WindowFeatures to the arrays of their records.

    Returns:
      Dict of name to integers [B, length].
    """

    def numbers(attribute):
        return np.array([[getattr(feature, attribute)] for feature in features], np.int64)

    arrays = {"unique_ids": numbers("unique_id"), **_pad(features)}
    if features[0].start_position is not None:
        arrays |= {
            "start_positions": numbers("start_position"),
            "end_positions": numbers("end_position"),
            "is_impossible": numbers("is_impossible"),
        }
    return arrays


def _pad(features):
    """Returns dict of the model's three inputs, int32 [B, S]."""
    arrays = {
        name: np.zeros([len(features), features[0].max_seq_length], np.int32) for name in FEATURES
    }
    for row, feature in enumerate(features):
        count = len(feature.token_ids)
        arrays["input_ids"][row, :count] = feature.token_ids
        arrays["input_mask"][row, :count] = 1
        arrays["segment_ids"][row, feature.context_start : count] = 1
    return arrays


class _TokenizedQuestion(NamedTuple):
    """A question and its context.

    Attributes:
      token_ids: int32 array. Tokens of the question.
      context_ids: int32 [CT]. Tokens of the context.
      context_words: int32 [CT]. Number of the word of each token of the context.
      answer_span: Tuple of int `(first, last)`, the tokens of the answer in the context. None if
        there is no answer, or if it was not requested.
    """

    token_ids: np.ndarray
    context_ids: np.ndarray
    context_words: np.ndarray
    answer_span: tuple | None


def _tokenize_questions(examples, tokenizer, is_training):
    """Yields the _TokenizedQuestion of each Example, with the answer's tokens if `is_training`."""
    token_ids_by_word = {}
    for start in range(0, len(examples), EXAMPLES_AT_A_TIME):
        batch = examples[start : start + EXAMPLES_AT_A_TIME]
        questions = _tokenize(tokenizer, [example.question_text for example in batch])
        answers = [None] * len(batch)
        if is_training:
            answers = _tokenize(tokenizer, [example.orig_answer_text or "" for example in batch])
        documents = _tokenize_contexts(
            tokenizer, {example.context for example in batch}, token_ids_by_word
        )
        for example, question, answer in zip(batch, questions, answers, strict=True):
            token_ids, words = documents[example.context]
            span = _find_answer_span(token_ids, words, example, answer) if is_training else None
            yield _TokenizedQuestion(question, token_ids, words, span)


def _tokenize(tokenizer, texts):
    """Maps a list of str to a list of int32 arrays, the tokens of each."""
    token_ids = tokenizer.tokenize([replace_surrogates(text).encode() for text in texts])
    values = token_ids.values.numpy()
    splits = token_ids.row_splits.numpy().tolist()
    return [values[start:stop] for start, stop in itertools.pairwise(splits)]


def _tokenize_contexts(tokenizer, contexts, token_ids_by_word):
    """Tokenizes contexts.

    Args:
      tokenizer: BertTokenizer.
      contexts: Set of str.
      token_ids_by_word: Dict of word to the list of its token IDs. New words are added.

    Returns:
      Dict of context to the tuple `(token_ids, words)`, int32 [CT]: the tokens, and the number of
      each token's word.
    """
    words = {context: split_words(context) for context in contexts}
    new = [*(set().union(*words.values()) - token_ids_by_word.keys())]
    for word, token_ids in zip(new, _tokenize(tokenizer, new), strict=True):
        token_ids_by_word[word] = token_ids.tolist()
    documents = {}
    for context in contexts:
        word_ids = [token_ids_by_word[word] for word in words[context]]
        documents[context] = (
            np.fromiter(itertools.chain.from_iterable(word_ids), np.int32),
            np.repeat(np.arange(len(word_ids), dtype=np.int32), list(map(len, word_ids))),
        )
    return documents


def _find_answer_span(token_ids, words, example, answer):
    """Finds the tokens of an answer in its context.

    They are the tokens of all words that it overlaps. If these contain the answer's tokens, they
    are only those: 1895 in "(1895-1943)." (the original BERT's `_improve_answer_span`).

    Args:
      token_ids, words: See `_tokenize_contexts`.
      example: Example.
      answer: int32 array. Tokens of the text of the answer.

    Returns:
      Tuple of int `(first, last)`, or None if there is no answer.
    """
    if example.is_impossible:
        return None
    first, stop = np.searchsorted(
        words, [example.start_position, example.end_position + 1]
    ).tolist()
    token_ids = token_ids[first:stop].tolist()
    answer = answer.tolist()
    for start in range(len(token_ids) - len(answer) + 1 if answer else 0):
        if token_ids[start : start + len(answer)] == answer:
            return first + start, first + start + len(answer) - 1
    return first, stop - 1
