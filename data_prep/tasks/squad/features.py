"""Conversion of questions and contexts to windows of IDs, with the features of the original BERT's run_squad.py."""

import dataclasses
import itertools

import numpy as np

from bert_tf.errors import InputError
from bert_tf.files import replace_surrogates
from bert_tf.tasks.span_decoding import find_fullest_windows, split_into_windows
from data_prep import records
from data_prep.tasks.squad.examples import split_words

FIRST_UNIQUE_ID = 1_000_000_000  # As in the original BERT.
EXAMPLES_AT_A_TIME = 512
RECORDS_AT_A_TIME = 256


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Window:
    """A window of a context after its question, in tokens: [CLS] question [SEP] window [SEP].

    Attributes have the names of the original BERT's `InputFeatures` if it has them.

    Attributes:
      unique_id: int. Number of the window, starting at FIRST_UNIQUE_ID.
      example_index: int. 0-based number of its example.
      doc_span_index: int. 0-based number of the window in its context.
      token_ids: int32 [N]. IDs without padding.
      context_start: int. Position in `token_ids` at which the window begins.
      words: int32 [window]. Word of the context for each token of the window.
      is_max_context: bool [window]. Whether no other window has more context for that token.
      max_seq_length: int. Length of the padded arrays, S.
      vocabulary: List of str. Token of each ID.
      start_position, end_position: int. For training, positions of the answer's first and last token; both 0, [CLS],
        if there is no answer or the window does not contain it completely.
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


class WindowStream:
    """Iterates once over the Windows of examples, which are created on demand, like the original BERT's
    `convert_examples_to_features`.

    Tokenizes the words of a context separately, as in the original BERT, but each distinct word only once. A context
    without words has no Window.

    Args:
      examples: List of Example.
      tokenizer: BertTokenizer.
      max_seq_length: int. Length of a padded window, S.
      doc_stride: int. Tokens between the starts of two windows, or the length of a window that is shorter.
      max_query_length: int. Length in tokens to which questions are truncated.
      is_training: bool. Whether windows have the positions of the answer.

    Attributes:
      num_long_questions: int. Questions truncated to max_query_length to date.
      num_windows: int. Windows created to date.

    Raises:
      InputError: See `check_lengths`.
    """

    def __init__(self, examples, tokenizer, max_seq_length, doc_stride, max_query_length, is_training):
        check_lengths(max_seq_length, doc_stride, max_query_length)
        self.num_long_questions = self.num_windows = 0
        self._examples = examples
        self._tokenizer, self._vocabulary = tokenizer, tokenizer.vocabulary
        self._max_seq_length, self._doc_stride = max_seq_length, doc_stride
        self._max_query_length, self._is_training = max_query_length, is_training
        self._token_ids_by_word = {}

    def __iter__(self):
        examples = self._examples
        for start in range(0, len(examples), EXAMPLES_AT_A_TIME):
            batch = examples[start : start + EXAMPLES_AT_A_TIME]
            questions = self._tokenize([example.question_text for example in batch])
            answers = self._tokenize([example.orig_answer_text or "" for example in batch]) if self._is_training else (
                [None] * len(batch))
            documents = self._create_documents(dict.fromkeys(example.context for example in batch))
            for index, (example, question, answer) in enumerate(zip(batch, questions, answers, strict=True), start):
                self.num_long_questions += len(question) > self._max_query_length
                yield from self._create_windows(index, example, question[: self._max_query_length],
                                         documents[example.context], answer)

    def _tokenize(self, texts):
        """Maps a list of str to a list of int32 arrays, the tokens of each."""
        token_ids = self._tokenizer.tokenize([replace_surrogates(text).encode() for text in texts])
        values, splits = token_ids.values.numpy(), token_ids.row_splits.numpy().tolist()
        return [values[start:stop] for start, stop in itertools.pairwise(splits)]

    def _create_documents(self, contexts):
        """Returns dict of each of `contexts` to its _Document."""
        words = {context: split_words(context) for context in contexts}
        new = [word for word in dict.fromkeys(itertools.chain.from_iterable(words.values()))
               if word not in self._token_ids_by_word]
        self._token_ids_by_word.update(
            (word, token_ids.tolist()) for word, token_ids in zip(new, self._tokenize(new), strict=True))
        return {context: _Document.from_words([self._token_ids_by_word[word] for word in words[context]])
                for context in contexts}

    def _create_windows(self, example_index, example, question, document, answer):
        """Yields the Windows of one example; `question`, `answer`: int32 arrays of their tokens."""
        begin = np.concatenate([[self._tokenizer.cls_id], question, [self._tokenizer.sep_id]])
        # 3 as in the original BERT: [CLS] and two [SEP].
        windows, _ = split_into_windows(
            len(document.token_ids), self._max_seq_length - len(question) - 3, self._doc_stride)
        fullest = find_fullest_windows(windows)
        has_answer = self._is_training and not example.is_impossible
        first, last = document.find_answer_span(example, answer) if has_answer else (-1, -1)
        for span_index, (start, length) in enumerate(windows if len(document.token_ids) else ()):
            stop = start + length
            positions = (None, None)
            if self._is_training:
                positions = (0, 0)
                if has_answer and start <= first and last < stop:
                    positions = (first - start + len(begin), last - start + len(begin))
            self.num_windows += 1
            yield Window(
                FIRST_UNIQUE_ID + self.num_windows - 1, example_index, span_index,
                np.concatenate([begin, document.token_ids[start:stop], begin[-1:]]).astype(np.int32), len(begin),
                document.words[start:stop], fullest[start:stop] == span_index, self._max_seq_length,
                self._vocabulary, *positions, example.is_impossible)


def check_lengths(max_seq_length, doc_stride, max_query_length):
    """Raises InputError, with the flag, if the lengths do not allow dividing contexts into windows."""
    if max_seq_length <= max_query_length + 3:
        raise InputError(f"`max_seq_length`={max_seq_length}: must be greater than `max_query_length` + 3, which is "
                         f"{max_query_length + 3}, so that some context fits after the longest question")
    if doc_stride < 1:
        raise InputError(f"`doc_stride`={doc_stride}: must be at least 1")


def record_features(max_seq_length, is_training):
    """Returns the features of a record, a tuple of records.Feature with the names in the original BERT."""
    lengths = {"unique_ids": 1, "input_ids": max_seq_length, "input_mask": max_seq_length,
               "segment_ids": max_seq_length}
    if is_training:
        lengths |= {"start_positions": 1, "end_positions": 1, "is_impossible": 1}
    return tuple(records.Feature(name, length) for name, length in lengths.items())


def write_records(path, windows, max_seq_length, is_training):
    """Writes an iterable of Windows in batches to a TFRecord file; returns their number."""
    windows = iter(windows)
    with records.RecordWriter(path, record_features(max_seq_length, is_training)) as writer:
        while batch := list(itertools.islice(windows, RECORDS_AT_A_TIME)):
            writer.write(create_arrays(batch))
        return writer.num_records


def create_arrays(windows):
    """Converts a list of Windows to the arrays of their records: dict of name to int [B, length]."""
    def numbers(attribute):
        return np.array([[getattr(window, attribute)] for window in windows], np.int64)

    inputs = {name: np.zeros([len(windows), windows[0].max_seq_length], np.int32)
              for name in ("input_ids", "input_mask", "segment_ids")}
    for row, window in enumerate(windows):
        count = len(window.token_ids)
        inputs["input_ids"][row, :count] = window.token_ids
        inputs["input_mask"][row, :count] = 1
        inputs["segment_ids"][row, window.context_start : count] = 1
    arrays = {"unique_ids": numbers("unique_id"), **inputs}
    if windows[0].start_position is not None:
        arrays |= {"start_positions": numbers("start_position"), "end_positions": numbers("end_position"),
                   "is_impossible": numbers("is_impossible")}
    return arrays


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Document:
    """A context in tokens.

    Attributes:
      token_ids: int32 [N]. IDs of the tokens.
      words: int32 [N]. Number of the word of each token.
      word_starts: int64 [words + 1]. Number of tokens before each word, and N.
    """

    token_ids: np.ndarray
    words: np.ndarray
    word_starts: np.ndarray

    @classmethod
    def from_words(cls, word_ids):
        """Creates a _Document. `word_ids`: for each word, the list of its token IDs."""
        counts = [len(ids) for ids in word_ids]
        return cls(np.fromiter(itertools.chain.from_iterable(word_ids), np.int32),
                   np.repeat(np.arange(len(counts), dtype=np.int32), counts), np.cumsum([0, *counts]))

    def find_answer_span(self, example, answer):
        """Returns (first, last) token of an example's answer, whose own tokens are `answer`.

        These are the tokens of all words that it overlaps. If they contain the answer's tokens, only those: 1895 in
        "(1895-1943)." (the original BERT's `_improve_answer_span`).
        """
        first = int(self.word_starts[:-1][example.start_position])
        last = int(self.word_starts[example.end_position + 1]) - 1
        token_ids, answer = self.token_ids[first : last + 1].tolist(), answer.tolist()
        for start in range(len(token_ids) - len(answer) + 1 if answer else 0):
            if token_ids[start : start + len(answer)] == answer:
                return first + start, first + start + len(answer) - 1
        return first, last
