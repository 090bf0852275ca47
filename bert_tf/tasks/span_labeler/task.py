"""The span of a context that answers a question."""

import re
import string
from typing import ClassVar, NamedTuple

import numpy as np

from bert_tf.tasks.kind import MAX_WINDOWS, Kind, round_for_json
from bert_tf.tasks.span_labeler import decoding
from bert_tf.tasks.span_labeler.decoding import N_BEST_SIZE, NO_SPAN
from bert_tf.tokenization.plain import pack
from bert_tf.tokenization.rows import encode_strings
from bert_tf.variables import POOLER

# Word separators of the original's `read_squad_examples`.
_SEPARATORS = re.compile("[ \t\r\n\u202f]+")
_WORD = re.compile("[^ \t\r\n\u202f]+")

_ARTICLE = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


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


class SpanLabeler(Kind):
    """Extractive question answering (sections 4.2 and 4.3 of the paper: SQuAD)."""

    name = "span_labeler"
    hugging_face = (
        "BertForQuestionAnswering",
        "DistilBertForQuestionAnswering",
        "ElectraForQuestionAnswering",
    )
    fields: ClassVar = {
        "doc_stride": 128,
        "max_query_length": 64,
        "max_answer_length": 30,
        "top_k": 5,
        "version_2_with_negative": False,
        "null_score_diff_threshold": 0.0,
    }
    head_scope = "cls/squad/"
    unused_variables = (POOLER,)
    per_position: ClassVar = {"start_logits": -1, "end_logits": -1}

    def num_outputs(self, metadata):
        """Returns 2, for start and end."""
        return 2

    def inputs(self, pairs=False):
        return {"question": 1, "context": 1}

    def answer(self, metadata, tokenizer, buckets, *texts):
        rows = []
        requests = []
        for question, text in zip(*texts, strict=True):
            context = split(tokenizer, text)
            query = tokenizer.ids(question)
            truncated = query[: metadata.max_query_length]
            # The original's 3 are [CLS] and two [SEP].
            room = metadata.max_seq_length - 3 - len(truncated)
            windows, was_cut = decoding.split_into_windows(
                len(context.ids), room, metadata.doc_stride, MAX_WINDOWS
            )
            requests.append((context, windows, len(rows), was_cut or len(query) > len(truncated)))
            rows += [
                pack(
                    tokenizer,
                    truncated,
                    context.ids[start : start + length],
                    metadata.max_seq_length,
                )
                for start, length in windows
            ]
        outputs = buckets.run(rows)
        answers = [
            _answer(
                metadata,
                context,
                windows,
                rows[first : first + len(windows)],
                outputs[first : first + len(windows)],
            )
            for context, windows, first, _ in requests
        ]
        scores = np.full([len(answers), metadata.top_k], NO_SPAN, np.float32)
        for index, answer in enumerate(answers):
            scores[index, : len(answer["scores"])] = answer["scores"]
        return {
            "answer": encode_strings([answer["answer"] for answer in answers]),
            **{
                name: np.array([answer[name] for answer in answers], kind)
                for name, kind in (
                    ("score", np.float32),
                    ("start", np.int32),
                    ("end", np.int32),
                    ("null_score_diff", np.float32),
                )
            },
            "answers": encode_strings([answer["answers"] for answer in answers], metadata.top_k),
            "scores": scores,
            "was_cut": np.array([was_cut for *_, was_cut in requests], bool),
        }

    def json_rows(self, outputs):
        """Returns dicts of "answer", "start", "end", "score", "null_score_diff", and "answers".

        For example, {"answer": "...", "start": 0, "end": 9, "score": 7.1, "null_score_diff": -3.0,
        "answers": [{"text": "...", "score": 7.1}, ...]}.
        """
        return [
            {
                "answer": outputs["answer"][index].decode(),
                "start": int(outputs["start"][index]),
                "end": int(outputs["end"][index]),
                "score": round_for_json(outputs["score"][index]),
                "null_score_diff": round_for_json(outputs["null_score_diff"][index]),
                "answers": [
                    {"text": text.decode(), "score": round_for_json(score)}
                    for text, score in zip(
                        outputs["answers"][index], outputs["scores"][index], strict=True
                    )
                    if text
                ],
            }
            for index in range(len(outputs["answer"]))
        ]

    def is_right(self, row, expected):
        """Returns whether an answer is one of `expected`, which is empty if there is no answer.

        It compares like SQuAD's evaluation.
        """
        answer = normalize(row["answer"])
        return any(normalize(text) == answer for text in expected) or not (
            row["answer"] or expected
        )

    def to_logits(self, answer):
        return {name: answer[name] for name in self.per_position}


def normalize(text):
    """Removes case, punctuation, articles, and extra white space, as SQuAD's evaluation does."""
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


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


def _answer(metadata, context, windows, rows, outputs):
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
    answer = texts[0] if texts else NO_ANSWER
    if metadata.version_2_with_negative and null_score_diff > metadata.null_score_diff_threshold:
        answer = NO_ANSWER
    distinct = {}
    for text, text_score in zip(texts, scores, strict=True):
        distinct.setdefault(text.text, text_score)
    return {
        "answer": answer.text,
        "score": score,
        "start": answer.start,
        "end": answer.end,
        "null_score_diff": null_score_diff,
        "answers": list(distinct)[: metadata.top_k],
        "scores": list(distinct.values())[: metadata.top_k],
    }
