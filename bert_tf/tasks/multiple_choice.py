"""The best of several texts that follow another text."""

from bert_tf.tasks.base import Kind


class MultipleChoice(Kind):
    """Multiple choice (section 4.4 of the paper: SWAG)."""

    name = "multiple_choice"
    hugging_face = ("BertForMultipleChoice",)
    signature = frozenset({"choice"})
    has_several_rows = True

    def inputs(self, pairs=False):
        """See Kind."""
        del pairs
        return {"text_a": 1, "choices": 2}
