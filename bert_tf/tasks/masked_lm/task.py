"""Candidates for each [MASK] of a text or a pair of texts."""

from typing import ClassVar

from bert_tf.tasks.kind import Kind, round_for_json
from bert_tf.variables import POOLER

MASK = "[MASK]"


class MaskedLM(Kind):
    """The masked language model (section 3.1 of the paper), which any pre-trained checkpoint has.

    For pairs, it also predicts the next sentence if the checkpoint has that head.
    """

    name = "masked_lm"
    is_fine_tuned = False
    hugging_face = ("BertForMaskedLM", "BertForPreTraining", "DistilBertForMaskedLM")
    fields: ClassVar = {"pairs": False, "top_k": 5, "next_sentence": False}
    head_scope = "cls/predictions/"
    unused_variables = (POOLER, "cls/seq_relationship/")
    per_position: ClassVar = {"sequence_output": -2}

    def json_rows(self, outputs):
        """Returns dicts like {"masks": [[{"piece": "paris", "probability": 0.4}, ...], ...]}.

        If the model predicts the next sentence, they also have "is_next": 0.9.
        """
        rows = []
        for index, number in enumerate(outputs["num_masks"]):
            masks = [
                _to_candidates(
                    outputs["pieces"][index, mask], outputs["probabilities"][index, mask]
                )
                for mask in range(number)
            ]
            rows.append({"masks": masks})
        for row, probability in zip(rows, outputs.get("is_next", ()), strict=False):
            row["is_next"] = round_for_json(probability)
        return rows


def _to_candidates(pieces, probabilities):
    """Returns the JSON objects of the candidates for one [MASK]."""
    return [
        {"piece": piece.decode(), "probability": round_for_json(probability)}
        for piece, probability in zip(pieces, probabilities, strict=True)
    ]
