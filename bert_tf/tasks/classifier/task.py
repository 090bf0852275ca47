"""A label, several labels, or a number for a text or a pair of texts."""

from typing import ClassVar

import numpy as np

from bert_tf.tasks.kind import MIN_PROBABILITY, Kind, round_for_json


class Classifier(Kind):
    """Sentence and sentence pair classification and regression (section 4.1 of the paper)."""

    name = "classifier"
    hugging_face = (
        "BertForSequenceClassification",
        "DistilBertForSequenceClassification",
        "ElectraForSequenceClassification",
    )
    fields: ClassVar = {
        "labels": (),
        "pairs": False,
        "multi_label": False,
        "window_pooling": None,
        "window_stride": None,
        "max_windows": None,
        "activation": None,
    }
    may_give_number = True

    def json_rows(self, outputs):
        """Returns dicts like {"label": "yes", "probabilities": {"no": 0.1, "yes": 0.9}}.

        Multi-label models have "labels" with a list instead of "label". A regression has
        {"value": 3.2}.
        """
        if "value" in outputs:
            return [{"value": round_for_json(value)} for value in outputs["value"]]
        rows = []
        for index, values in enumerate(outputs["probabilities"]):
            names = [name.decode() for name in outputs["labels"][index]]
            row = {}
            if "has_label" in outputs:
                has_label = outputs["has_label"][index]
                row["labels"] = [name for name, has in zip(names, has_label, strict=True) if has]
            else:
                row["label"] = outputs["label"][index].decode()
            row["probabilities"] = dict(zip(names, round_for_json(values), strict=True))
            rows.append(row)
        return rows

    def is_right(self, row, expected):
        """Returns whether a prediction is `expected`: a label, or the list of all labels."""
        return row.get("label", row.get("labels")) == expected

    def to_logits(self, answer):
        """See Kind."""
        if "value" in answer:
            return {"logits": answer["value"][:, np.newaxis]}
        if "has_label" in answer:
            probabilities = np.maximum(answer["probabilities"], MIN_PROBABILITY)
            complements = np.maximum(1 - probabilities, MIN_PROBABILITY)
            return {"logits": np.log(probabilities) - np.log(complements)}
        return super().to_logits(answer)
