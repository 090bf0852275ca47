"""The span of a context that answers a question."""

from typing import ClassVar

from bert_tf.tasks.base import Kind


class SpanLabeler(Kind):
    """Extractive question answering (sections 4.2 and 4.3 of the paper: SQuAD)."""

    name = "span_labeler"
    hugging_face = ("BertForQuestionAnswering",)
    card_fields = frozenset({"doc_stride", "max_query_length"})
    head_scope = "cls/squad/"
    unused_variables = ("bert/pooler/",)
    per_position: ClassVar = {"start_logits": -1, "end_logits": -1}
    signature = frozenset({"null_score_diff"})
    has_several_rows = True

    def num_outputs(self, card):
        """A start and an end; see Kind."""
        del card
        return 2

    def inputs(self, pairs=False):
        """See Kind."""
        del pairs
        return {"question": 1, "context": 1}
