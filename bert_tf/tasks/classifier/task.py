"""A label, several labels, or a number for a text or a pair of texts."""

from typing import ClassVar

import numpy as np

from bert_tf.tasks.kind import LEAST_PROBABILITY, Kind, round_for_json, softmax, stack
from bert_tf.tokenization.plain import pack_texts, were_cut
from bert_tf.tokenization.rows import encode_strings


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

    def answer(self, metadata, tokenizer, buckets, *texts):
        rows = pack_texts(tokenizer, metadata.max_seq_length, *texts)
        logits = stack(
            [output["logits"] for output in buckets.run(rows)], [self.num_outputs(metadata)]
        )
        was_cut = were_cut(rows)
        if not metadata.labels:
            value = logits[:, 0]
            if metadata.activation:
                value = 0.5 * (1 + np.tanh(0.5 * value))
            return {"value": value, "was_cut": was_cut}
        names = encode_strings([metadata.labels] * len(rows), len(metadata.labels))
        if metadata.multi_label:
            return {
                "labels": names,
                "probabilities": 1 / (1 + np.exp(-logits)),
                "has_label": logits > 0,
                "was_cut": was_cut,
            }
        return {
            "label": encode_strings([metadata.labels[number] for number in logits.argmax(axis=1)]),
            "labels": names,
            "probabilities": softmax(logits),
            "was_cut": was_cut,
        }

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
        if "value" in answer:
            return {"logits": answer["value"][:, np.newaxis]}
        if "has_label" in answer:
            probabilities = np.maximum(answer["probabilities"], LEAST_PROBABILITY)
            complements = np.maximum(1 - probabilities, LEAST_PROBABILITY)
            return {"logits": np.log(probabilities) - np.log(complements)}
        return super().to_logits(answer)
