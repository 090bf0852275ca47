"""The answer to a question without TensorFlow, which graph.py computes in TensorFlow."""

import re
from typing import NamedTuple

import numpy as np

from bert_tf.tasks.answers import to_byte_strings
from bert_tf.tasks.kind import MAX_WINDOWS
from bert_tf.tasks.span_labeler import decoding
from bert_tf.tasks.span_labeler.decoding import N_BEST_SIZE, NO_SPAN
from bert_tf.tasks.span_labeler.task import SpanLabeler
from bert_tf.tokenization.plain import join_ids

# Word separators of the original's `read_squad_examples`.
_SEPARATORS = re.compile("[ \t\r\n\u202f]+")
_WORD = re.compile("[^ \t\r\n\u202f]+")


class SpanText(NamedTuple):
    """The source text of a span, and its half-open span in the context, in characters."""

    text: str
    start: int
    end: int


NO_ANSWER = SpanText("", 0, 0)


class Context(NamedTuple):
    """The tokens of a context and their sources: ID and span of each token, in characters."""

    text: str
    ids: list
    starts: list
    ends: list

    def span_text(self, first, last):
        """Extracts the SpanText of tokens `first` to `last`, like `extract_span_texts`."""
        start = self.starts[first]
        end = self.ends[last]
        return SpanText(_SEPARATORS.sub(" ", self.text[start:end]), start, end)


def answer(metadata, tokenizer, buckets, *texts):
    """Computes the response of serving_default; see `bert_tf.tasks.answers`."""
    rows = []
    requests = []
    for question, text in zip(*texts, strict=True):
        context = split(tokenizer, text)
        query = tokenizer.ids(question)
        truncated = query[: metadata.max_query_length]
        # The original's 3 are [CLS] and two [SEP].
        room = metadata.max_seq_length - 3 - len(truncated)
        windows, was_cut = decoding.list_windows(
            len(context.ids), room, metadata.doc_stride, MAX_WINDOWS
        )
        requests.append((context, windows, len(rows), was_cut or len(query) > len(truncated)))
        rows += [
            join_ids(
                tokenizer,
                truncated,
                context.ids[start : start + length],
                metadata.max_seq_length,
            )
            for start, length in windows
        ]
    outputs = buckets.run(rows)
    found = [
        _find_answer(
            metadata,
            context,
            windows,
            rows[first : first + len(windows)],
            outputs[first : first + len(windows)],
        )
        for context, windows, first, _ in requests
    ]
    scores = np.full([len(found), metadata.top_k], NO_SPAN, np.float32)
    for index, best in enumerate(found):
        scores[index, : len(best["scores"])] = best["scores"]
    return {
        "answer": to_byte_strings([best["answer"] for best in found]),
        **{
            name: np.array([best[name] for best in found], dtype)
            for name, dtype in (
                ("score", np.float32),
                ("start", np.int32),
                ("end", np.int32),
                ("null_score_diff", np.float32),
            )
        },
        "answers": to_byte_strings([best["answers"] for best in found], metadata.top_k),
        "scores": scores,
        "was_cut": np.array([was_cut for *_, was_cut in requests], bool),
    }


def split(tokenizer, text):
    """Tokenizes a context word by word, as in the original; PlainTokenizer, str -> Context."""
    ids = []
    starts = []
    ends = []
    for match in _WORD.finditer(text):
        tokens = tokenizer.ids_and_spans(match[0])
        ids += tokens.ids
        starts += [match.start() + start for start in tokens.starts]
        ends += [match.start() + end for end in tokens.ends]
    return Context(text, ids, starts, ends)


def _find_answer(metadata, context, windows, rows, outputs):
    """Returns a question's answer from its Windows, their Rows, and the outputs for these.

    The answer is a dict of output name of serving_default -> value.
    """
    fullest = decoding.find_fullest_windows(windows)
    scored = [
        decoding.ScoredWindow(
            len(row.ids) - 1 - length,  # a window is last in its row, before a [SEP]
            fullest[start : start + length] == number,
            *(output[name][: len(row.ids)] for name in SpanLabeler.per_position),
        )
        for number, ((start, length), row, output) in enumerate(
            zip(windows, rows, outputs, strict=True)
        )
    ]
    spans = decoding.find_spans(scored, N_BEST_SIZE, metadata.max_answer_length)
    scores = spans.start_scores + spans.end_scores
    best = decoding.rank(scores, N_BEST_SIZE)
    shifts = np.array(
        [window.start - row.begin for window, row in zip(windows, scored, strict=True)]
    )
    scores = scores[best]
    shifts = shifts[spans.windows[best]]
    texts = list(map(context.span_text, spans.starts[best] + shifts, spans.ends[best] + shifts))
    score = scores[0] if texts else np.float32(NO_SPAN)
    null_score_diff = min(row.start_scores[0] + row.end_scores[0] for row in scored) - score
    source = texts[0] if texts else NO_ANSWER
    if metadata.version_2_with_negative and null_score_diff > metadata.null_score_diff_threshold:
        source = NO_ANSWER
    distinct = {}
    for text, text_score in zip(texts, scores, strict=True):
        distinct.setdefault(text.text, text_score)
    return {
        "answer": source.text,
        "score": score,
        "start": source.start,
        "end": source.end,
        "null_score_diff": null_score_diff,
        "answers": list(distinct)[: metadata.top_k],
        "scores": list(distinct.values())[: metadata.top_k],
    }
