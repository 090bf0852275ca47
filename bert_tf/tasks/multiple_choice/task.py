"""The best of several texts that follow another text."""

from bert_tf.tasks.kind import Kind, round_for_json


class MultipleChoice(Kind):
    """Multiple choice (section 4.4 of the paper: SWAG)."""

    name = "multiple_choice"
    hugging_face = (
        "BertForMultipleChoice",
        "DistilBertForMultipleChoice",
        "ElectraForMultipleChoice",
    )

    def inputs(self, pairs=False):
        """See Kind."""
        return {"text_a": 1, "choices": 2}

    def json_rows(self, outputs):
        """Returns dicts like {"choice": 0, "probabilities": [...]}."""
        return [
            {"choice": int(choice), "probabilities": round_for_json(probabilities)}
            for choice, probabilities in zip(
                outputs["choice"], outputs["probabilities"], strict=True
            )
        ]

    def is_right(self, row, expected):
        """Returns whether a prediction is `expected`, the index of a choice."""
        return row["choice"] == expected
