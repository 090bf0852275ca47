"""From a question and a context to the answer as it stands there, in NumPy: what ServedSpanLabeler's graph computes.

Legend: W windows of a context, K candidates.
"""

import functools
import re
from typing import ClassVar, NamedTuple

import numpy as np

from bert_tf.litert.answers import Answerer
from bert_tf.litert.inputs import as_strings
from bert_tf.tokenization.vocabulary import SUFFIX_INDICATOR

N_BEST_SIZE = 20  # the original's default: positions tried as start and as end of a window, and spans looked at
NO_SPAN = -1e6  # the score where a context has no span; JSON has no infinity

# What parts words for the original's `read_squad_examples`.
_SEPARATORS = re.compile("[ \t\r\n\u202f]+")
_WORD = re.compile("[^ \t\r\n\u202f]+")
_CACHED_CONTEXTS = 16  # of which several questions may be asked


class Context(NamedTuple):
    """The pieces of a context and where they come from; spans are of characters.

    Attributes:
      text: str.
      ids, starts, ends: lists, the id and the span of each piece.
      words: list, the number of the word that each piece is of.
      word_spans: list of (start, end) of each word.
      odd_words: int array [words + 1], how many words before each have other characters than their pieces.
      unknown: int array [pieces + 1], how many pieces before each are [UNK].
    """

    text: str
    ids: list
    starts: list
    ends: list
    words: list
    word_spans: list
    odd_words: np.ndarray
    unknown: np.ndarray

    def span_text(self, first, last):
        """The text of pieces `first` to `last`, as `question_windows.span_texts` gives it: (text, start, end)."""
        first_word, last_word = self.words[first], self.words[last]
        start, end = self.starts[first], self.ends[last]
        if self.unknown[last + 1] > self.unknown[first] or self.odd_words[last_word + 1] > self.odd_words[first_word]:
            start, end = self.word_spans[first_word][0], self.word_spans[last_word][1]
        return _SEPARATORS.sub(" ", self.text[start:end]), start, end


class Window(NamedTuple):
    """Some pieces of a context: the number of the first, and how many."""

    start: int
    length: int


class SpanLabelerAnswerer(Answerer):
    """ServedSpanLabeler's answers."""

    text_inputs: ClassVar = {"question": 1, "context": 1}

    def __init__(self, metadata, tokenizer, buckets):
        super().__init__(metadata, tokenizer, buckets)
        self._split = functools.lru_cache(_CACHED_CONTEXTS)(functools.partial(split, tokenizer))

    def __call__(self, questions, contexts):
        rows, asked = [], []
        for question, text in zip(questions, contexts, strict=True):
            context, query = self._split(text), self.tokenizer.ids(question)
            kept = query[: self.metadata.max_query_length]
            windows, was_cut = cut_into_windows(
                len(context.ids), self.max_seq_length - 3 - len(kept), self.metadata.doc_stride,
                self.metadata.max_windows)  # the original's 3: [CLS] and two [SEP]
            asked.append((context, windows, len(rows), was_cut or len(query) > len(kept)))
            rows += [self.pack(kept, context.ids[start : start + length]) for start, length in windows]
        outputs = self.buckets.run(rows)
        found = [self._answer(context, windows, rows[first : first + len(windows)],
                              outputs[first : first + len(windows)]) for context, windows, first, _ in asked]
        top_k = self.metadata.top_k
        scores = np.full([len(found), top_k], NO_SPAN, np.float32)
        for place, answer in enumerate(found):
            scores[place, : len(answer["scores"])] = answer["scores"]
        return {"answer": as_strings([answer["answer"] for answer in found]),
                **{name: np.array([answer[name] for answer in found], kind) for name, kind in (
                    ("score", np.float32), ("start", np.int32), ("end", np.int32), ("null_score_diff", np.float32))},
                "answers": as_strings([answer["answers"] for answer in found], top_k), "scores": scores,
                "was_cut": np.array([was_cut for *_, was_cut in asked], bool)}

    def _answer(self, context, windows, rows, outputs):
        """One question's answer, dict of the outputs' names -> value, from its Windows, Rows and outputs."""
        logits = [(output["start_logits"][: len(row.ids)], output["end_logits"][: len(row.ids)])
                  for row, output in zip(rows, outputs, strict=True)]
        spans = best_spans(windows, logits, self.metadata.max_answer_length)
        texts = [context.span_text(first, last) for _, first, last in spans]
        score = spans[0][0] if spans else np.float32(NO_SPAN)
        null_score_diff = min(start[0] + end[0] for start, end in logits) - score
        answer, begin, end = texts[0] if texts else ("", 0, 0)
        if self.metadata.allow_no_answer and null_score_diff > self.metadata.null_score_diff_threshold:
            answer, begin, end = "", 0, 0
        distinct = {}
        for (text, *_), (each, *_) in zip(texts, spans, strict=True):
            distinct.setdefault(text, each)
        return {"answer": answer, "score": score, "start": begin, "end": end, "null_score_diff": null_score_diff,
                "answers": list(distinct)[: self.metadata.top_k],
                "scores": list(distinct.values())[: self.metadata.top_k]}


def split(tokenizer, text):
    """Tokenizes a context word by word, as the original does; PlainTokenizer, str -> Context."""
    ids, starts, ends, words, spans, odd = [], [], [], [], [], []
    for number, match in enumerate(_WORD.finditer(text)):
        begin, word = match.start(), match[0]
        word_ids, word_starts, word_ends = tokenizer.ids_and_spans(word)
        ids += word_ids
        starts += [begin + start for start in word_starts]
        ends += [begin + end for end in word_ends]
        words += [number] * len(word_ids)
        spans.append(match.span())
        characters = sum(len(tokenizer.vocabulary[id_].removeprefix(SUFFIX_INDICATOR)) for id_ in word_ids)
        odd.append(tokenizer.unk_id not in word_ids and characters != len(word))
    return Context(text, ids, starts, ends, words, spans, _count_before(odd),
                   _count_before([id_ == tokenizer.unk_id for id_ in ids]))


def _count_before(flags):
    return np.cumsum([0, *flags])


def cut_into_windows(total, room, doc_stride, max_windows):
    """Cuts a context of `total` pieces into Windows of at most `room`, as `tokenization.windows.cut_into_windows`.

    Returns:
      (list of Window, at least one; bool, whether there are more than `max_windows`).
    """
    step = min(room, doc_stride)
    wanted = 1 + -(-max(total - room, 0) // step)
    return [Window(start, min(room, total - start)) for start in range(0, step * min(wanted, max_windows), step)], (
        wanted > max_windows)


def best_spans(windows, logits, max_answer_length):
    """The best spans of a context by the rules of the original's `write_predictions`.

    Args:
      windows: list of Window.
      logits: list of (start, end), float32 [pieces of the row] each; a window comes last in its row, before a [SEP].
      max_answer_length: most pieces of a span.

    Returns:
      List of (score, first piece, last piece), at most N_BEST_SIZE, best first.
    """
    scores, firsts, lasts = [], [], []
    for number, (window, (start_logits, end_logits)) in enumerate(zip(windows, logits, strict=True)):
        begin = len(start_logits) - 1 - window.length
        starts, ends = (_largest(values) for values in (start_logits, end_logits))
        start, end = starts - begin, ends - begin  # within the window
        begins = (start >= 0) & (start < window.length)
        begins &= _shows_most_context(windows, start + window.start) == number
        length = end - start[:, np.newaxis] + 1  # [K, K]
        is_span = begins[:, np.newaxis] & (end < window.length) & (length >= 1) & (length <= max_answer_length)
        places = np.nonzero(is_span)
        scores.append((start_logits[starts][:, np.newaxis] + end_logits[ends])[places])
        firsts.append(start[places[0]] + window.start)
        lasts.append(end[places[1]] + window.start)
    scores, firsts, lasts = map(np.concatenate, (scores, firsts, lasts))
    return [(scores[place], firsts[place], lasts[place]) for place in _largest(scores)]


def _largest(values):
    """The positions of the N_BEST_SIZE largest of [N], falling; of equals the first comes first."""
    return np.argsort(-values, kind="stable")[:N_BEST_SIZE]


def _shows_most_context(windows, positions):
    """The number of the window that shows most context of each of the pieces [K] (`_check_is_max_context`)."""
    starts, lengths = np.array(windows).T[:, :, np.newaxis]  # [W, 1]
    left = positions - starts
    right = lengths - 1 - left
    context = np.minimum(left, right) + 0.01 * lengths  # in double precision as in Python
    return np.where((left >= 0) & (right >= 0), context, -1.0).argmax(axis=0)
