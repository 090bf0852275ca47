"""Questions and their contexts -> windows of ids, with the features of the original's run_squad.py."""

import dataclasses
import itertools

import numpy as np

from bert_tf.errors import InputError
from bert_tf.files import without_surrogates
from bert_tf.tasks.span_decoding import cut_into_windows, find_fullest_windows
from data_prep import records
from data_prep.tasks.squad.examples import split_words

FIRST_UNIQUE_ID = 1_000_000_000  # the original's
EXAMPLES_AT_A_TIME = 512
RECORDS_AT_A_TIME = 256


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Feature:
    """A window of a context after its question; attributes have the names of the original's `InputFeatures`.

    In pieces: [CLS] question [SEP] window [SEP]. Arrays of full length are made when they are asked for.

    Attributes:
      unique_id: number of the window, from FIRST_UNIQUE_ID.
      example_index: number of its example, from 0.
      doc_span_index: number of the window within its context, from 0.
      pieces: int32 [N], the ids without padding.
      context_start: position in `pieces` at which the window begins.
      words: int32 [window], the word of the context that each piece of the window is of.
      is_max_context: bool [window], whether no other window shows more context of that piece.
      max_seq_length: length of the padded arrays, S.
      vocabulary: list of str, the piece of each id.
      start_position, end_position: for training, positions of the answer's first and last piece; both 0, [CLS],
        where the window does not hold the whole answer or there is none.
      is_impossible: the example's.
    """

    unique_id: int
    example_index: int
    doc_span_index: int
    pieces: np.ndarray
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
        """list of str, the pieces without padding."""
        return [self.vocabulary[piece] for piece in self.pieces]

    @property
    def token_to_orig_map(self):
        """dict from the position of a piece of the window to the number of its word in `Example.doc_tokens`."""
        return dict(enumerate(self.words.tolist(), self.context_start))

    @property
    def token_is_max_context(self):
        """dict from the position of a piece of the window to bool."""
        return dict(enumerate(self.is_max_context.tolist(), self.context_start))

    @property
    def input_ids(self):
        """int32 [S]."""
        return _padded([self])["input_ids"][0]

    @property
    def input_mask(self):
        """int32 [S], 1 for a piece and 0 for padding."""
        return _padded([self])["input_mask"][0]

    @property
    def segment_ids(self):
        """int32 [S], 1 for the window and the [SEP] after it."""
        return _padded([self])["segment_ids"][0]


class FeatureStream:
    """An iterator over Features, made while they are taken.

    Attributes:
      num_long_questions: questions cut to max_query_length so far.
      num_features: features given so far.
    """

    def __init__(self, examples, tokenizer, max_seq_length, doc_stride, max_query_length, is_training):
        self.num_long_questions = 0
        self.num_features = 0
        self._tokenizer = tokenizer
        self._vocabulary = tokenizer.vocabulary
        self._max_seq_length, self._doc_stride = max_seq_length, doc_stride
        self._max_query_length, self._is_training = max_query_length, is_training
        self._pieces_of_word = {}
        self._features = self._make(examples)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._features)

    def _make(self, examples):
        for start in range(0, len(examples), EXAMPLES_AT_A_TIME):
            batch = examples[start : start + EXAMPLES_AT_A_TIME]
            questions = self._tokenize([example.question_text for example in batch])
            answers = self._tokenize([example.orig_answer_text or "" for example in batch]) if self._is_training else (
                [None] * len(batch))
            documents = self._documents(dict.fromkeys(example.context for example in batch))
            for index, (example, question, answer) in enumerate(zip(batch, questions, answers, strict=True), start):
                self.num_long_questions += len(question) > self._max_query_length
                yield from self._windows(index, example, question[: self._max_query_length],
                                         documents[example.context], answer)

    def _tokenize(self, texts):
        """list of str -> list of int32 arrays, the pieces of each."""
        pieces = self._tokenizer.tokenize([without_surrogates(text).encode() for text in texts])
        values, splits = pieces.values.numpy(), pieces.row_splits.numpy().tolist()
        return [values[start:stop] for start, stop in itertools.pairwise(splits)]

    def _documents(self, contexts):
        """dict from each of `contexts` to its _Document."""
        words = {context: split_words(context) for context in contexts}
        new = [word for word in dict.fromkeys(itertools.chain.from_iterable(words.values()))
               if word not in self._pieces_of_word]
        self._pieces_of_word.update(
            (word, pieces.tolist()) for word, pieces in zip(new, self._tokenize(new), strict=True))
        return {context: _Document.of_words([self._pieces_of_word[word] for word in words[context]])
                for context in contexts}

    def _windows(self, example_index, example, question, document, answer):
        """Yields the Features of one example; `question`, `answer`: int32 arrays of their pieces."""
        begin = np.concatenate([[self._tokenizer.cls_id], question, [self._tokenizer.sep_id]])
        # The original's 3: [CLS] and two [SEP].
        windows, _ = cut_into_windows(len(document.pieces), self._max_seq_length - len(question) - 3, self._doc_stride)
        fullest = find_fullest_windows(windows)
        has_answer = self._is_training and not example.is_impossible
        first, last = document.answer_span(example, answer) if has_answer else (-1, -1)
        for span_index, (start, length) in enumerate(windows if len(document.pieces) else ()):
            stop = start + length
            positions = (None, None)
            if self._is_training:
                positions = (0, 0)
                if has_answer and start <= first and last < stop:
                    positions = (first - start + len(begin), last - start + len(begin))
            self.num_features += 1
            yield Feature(
                FIRST_UNIQUE_ID + self.num_features - 1, example_index, span_index,
                np.concatenate([begin, document.pieces[start:stop], begin[-1:]]).astype(np.int32), len(begin),
                document.words[start:stop], fullest[start:stop] == span_index, self._max_seq_length,
                self._vocabulary, *positions, example.is_impossible)


def convert_examples_to_features(examples, tokenizer, max_seq_length, doc_stride, max_query_length, is_training):
    """Cuts contexts into windows that overlap, each after its question (the original's function of this name).

    Words of a context are tokenized one by one, as the original does, each distinct word once.

    Args:
      examples: list of Example.
      tokenizer: BertTokenizer.
      max_seq_length: length of a padded feature, S.
      doc_stride: pieces between the starts of two windows; where a window is shorter, its length.
      max_query_length: pieces at which a question is cut.
      is_training: whether features get the positions of the answer.

    Returns:
      FeatureStream, an iterator of Feature. A context without a word has none.

    Raises:
      InputError: as `check_lengths`.
    """
    check_lengths(max_seq_length, doc_stride, max_query_length)
    return FeatureStream(examples, tokenizer, max_seq_length, doc_stride, max_query_length, is_training)


def check_lengths(max_seq_length, doc_stride, max_query_length):
    """Raises InputError, naming the flag, for lengths with which contexts cannot be cut into windows."""
    if max_seq_length <= max_query_length + 3:
        raise InputError(f"`max_seq_length`={max_seq_length}: must be greater than `max_query_length` + 3, which is "
                         f"{max_query_length + 3}: the longest question leaves no room for the context")
    if doc_stride < 1:
        raise InputError(f"`doc_stride`={doc_stride}: must be at least 1, or the windows do not move on")


def record_features(max_seq_length, is_training):
    """Features of a record, a tuple of records.Feature under the original's names."""
    lengths = {"unique_ids": 1, "input_ids": max_seq_length, "input_mask": max_seq_length,
               "segment_ids": max_seq_length}
    if is_training:
        lengths |= {"start_positions": 1, "end_positions": 1, "is_impossible": 1}
    return tuple(records.Feature(name, length) for name, length in lengths.items())


def write_records(path, features, max_seq_length, is_training):
    """Writes an iterable of Features, taken a few at a time, to a TFRecord file; returns how many there were."""
    features = iter(features)
    with records.RecordWriter(path, record_features(max_seq_length, is_training)) as writer:
        while batch := list(itertools.islice(features, RECORDS_AT_A_TIME)):
            writer.write(arrays_of(batch))
        return writer.num_records


def arrays_of(features):
    """What records of a list of Features hold, as arrays: dict of name -> int [B, length]."""
    def numbers(attribute):
        return np.array([[getattr(feature, attribute)] for feature in features], np.int64)

    arrays = {"unique_ids": numbers("unique_id"), **_padded(features)}
    if features[0].start_position is not None:
        arrays |= {"start_positions": numbers("start_position"), "end_positions": numbers("end_position"),
                   "is_impossible": numbers("is_impossible")}
    return arrays


def _padded(features):
    """dict of the three int32 [B, S] that the model takes."""
    arrays = {name: np.zeros([len(features), features[0].max_seq_length], np.int32)
              for name in ("input_ids", "input_mask", "segment_ids")}
    for row, feature in enumerate(features):
        count = len(feature.pieces)
        arrays["input_ids"][row, :count] = feature.pieces
        arrays["input_mask"][row, :count] = 1
        arrays["segment_ids"][row, feature.context_start : count] = 1
    return arrays


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Document:
    """A context in pieces.

    Attributes:
      pieces: int32 [N].
      words: int32 [N], the word that each piece is of.
      word_starts: int64 [words + 1], the number of pieces before each word, and N.
    """

    pieces: np.ndarray
    words: np.ndarray
    word_starts: np.ndarray

    @classmethod
    def of_words(cls, pieces):
        """`pieces`: for each word, the list of its ids."""
        counts = [len(ids) for ids in pieces]
        return cls(np.fromiter(itertools.chain.from_iterable(pieces), np.int32),
                   np.repeat(np.arange(len(counts), dtype=np.int32), counts), np.cumsum([0, *counts]))

    def answer_span(self, example, answer):
        """(first, last) piece of an example's answer, whose own pieces are `answer`.

        They are those of the words that it touches, or where the answer's pieces stand among them, these alone:
        of "(1895-1943)." the answer 1895 (the original's `_improve_answer_span`).
        """
        first = int(self.word_starts[:-1][example.start_position])
        last = int(self.word_starts[example.end_position + 1]) - 1
        pieces, answer = self.pieces[first : last + 1].tolist(), answer.tolist()
        for start in range(len(pieces) - len(answer) + 1 if answer else 0):
            if pieces[start : start + len(answer)] == answer:
                return first + start, first + start + len(answer) - 1
        return first, last
