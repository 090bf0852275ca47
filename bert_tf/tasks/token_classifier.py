"""A label for each word of a text."""

from typing import ClassVar

from bert_tf.tasks.base import Kind


class TokenClassifier(Kind):
    """Token classification (section 5.3 of the paper: NER)."""

    name = "token_classifier"
    hugging_face = ("BertForTokenClassification",)
    card_fields = frozenset({"labels"})
    unused_variables = ("bert/pooler/",)
    per_position: ClassVar = {"logits": -2}
    signature = frozenset({"tags"})
