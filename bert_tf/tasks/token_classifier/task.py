"""A label per word of a text."""

from typing import ClassVar

from bert_tf.tasks.kind import Kind, round_for_json
from bert_tf.variables import POOLER


class TokenClassifier(Kind):
    """Token classification (section 5.3 of the paper: NER)."""

    name = "token_classifier"
    hugging_face = (
        "BertForTokenClassification",
        "DistilBertForTokenClassification",
        "ElectraForTokenClassification",
    )
    fields: ClassVar = {"labels": ()}
    unused_variables = (POOLER,)
    per_position: ClassVar = {"logits": -2}

    def json_rows(self, outputs):
        """Returns dicts like {"words": [...], "tags": [...], "scores": [...]}."""
        return [
            {
                "words": [word.decode() for word in words[:count]],
                "tags": [tag.decode() for tag in tags[:count]],
                "scores": round_for_json(scores[:count]),
            }
            for words, tags, scores, count in zip(
                *map(outputs.get, ("words", "tags", "scores", "num_words")), strict=True
            )
        ]

    def is_right(self, row, expected):
        """Returns whether a prediction is `expected`, the list of all labels."""
        return row["tags"] == expected
