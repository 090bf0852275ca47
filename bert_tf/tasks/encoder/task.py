"""Embeddings of a text or a pair of texts."""

from typing import ClassVar

from bert_tf.tasks.encoder.pooling import pool_tokens
from bert_tf.tasks.kind import Kind, round_for_json
from bert_tf.variables import POOLER


class Encoder(Kind):
    """The encoder without a head; any checkpoint can serve as it."""

    name = "encoder"
    is_fine_tuned = False
    fields: ClassVar = {
        "pairs": False,
        "has_pooler": True,
        "sentence_pooling": None,
        "normalize": None,
        "truncate_dim": None,
    }
    unused_variables = (POOLER,)
    per_position: ClassVar = {"sequence_output": -2}

    def json_rows(self, outputs):
        """Returns dicts {"vector": [...]} with the sentence embedding, or else the pooled output.

        Without either, the vector is the mean of the outputs of all tokens.
        """
        vectors = next(
            (outputs[name] for name in ("sentence_embedding", "pooled_output") if name in outputs),
            None,
        )
        if vectors is None:
            vectors = pool_tokens(outputs["sequence_output"], outputs["token_mask"])
        return [{"vector": round_for_json(vector)} for vector in vectors]
