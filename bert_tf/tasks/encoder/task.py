"""Embeddings of a text or a pair of texts."""

from typing import ClassVar

from bert_tf.tasks.kind import Kind, round_for_json
from bert_tf.variables import POOLER


class Encoder(Kind):
    """The encoder without a head; any checkpoint can serve as it."""

    name = "encoder"
    is_fine_tuned = False
    fields: ClassVar = {
        "pairs": False,
        "sentence_pooling": "mean",
        "normalize": False,
        "truncate_dim": None,
    }
    unused_variables = (POOLER,)
    per_position: ClassVar = {"sequence_output": -2}

    def json_rows(self, outputs):
        """Returns dicts {"sentence_embedding": [...]}, the embedding of each example."""
        return [
            {"sentence_embedding": round_for_json(embedding)}
            for embedding in outputs["sentence_embedding"]
        ]
