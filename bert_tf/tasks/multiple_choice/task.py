"""The best of several texts that follow another text."""

import numpy as np

from bert_tf.tasks.kind import Kind, round_for_json, softmax, stack
from bert_tf.tokenization.plain import pack, were_cut


class MultipleChoice(Kind):
    """Multiple choice (section 4.4 of the paper: SWAG)."""

    name = "multiple_choice"
    hugging_face = (
        "BertForMultipleChoice",
        "DistilBertForMultipleChoice",
        "ElectraForMultipleChoice",
    )

    def inputs(self, pairs=False):
        return {"text_a": 1, "choices": 2}

    def answer(self, metadata, tokenizer, buckets, *texts):
        texts, choices = texts
        num_choices = len(choices[0]) if choices else 1
        rows = [
            pack(tokenizer, first, tokenizer.ids(choice), metadata.max_seq_length)
            for first, row in zip(map(tokenizer.ids, texts), choices, strict=True)
            for choice in row
        ]
        logits = stack([output["logits"] for output in buckets.run(rows)], [1])
        probabilities = softmax(logits.reshape([-1, num_choices]))
        return {
            "choice": probabilities.argmax(axis=-1).astype(np.int32),
            "probabilities": probabilities,
            "was_cut": were_cut(rows).reshape([-1, num_choices]).any(axis=1),
        }

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
