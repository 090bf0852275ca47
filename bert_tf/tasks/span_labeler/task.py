"""The span of a context that answers a question."""

import re
import string
from typing import ClassVar

from bert_tf.tasks.kind import Kind, round_for_json
from bert_tf.variables import POOLER

_ARTICLE = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


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
        """See Kind."""
        return {"question": 1, "context": 1}

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
        answer = normalize_answer(row["answer"])
        return any(normalize_answer(text) == answer for text in expected) or not (
            row["answer"] or expected
        )

    def to_logits(self, answer):
        """See Kind."""
        return {name: answer[name] for name in self.per_position}


def normalize_answer(text):
    """Removes case, punctuation, articles, and extra white space, as SQuAD's evaluation does."""
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())
