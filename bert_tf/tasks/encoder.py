"""Embeddings of a text or of a pair of texts."""

from typing import ClassVar

from bert_tf.tasks.base import Kind


class Encoder(Kind):
    """The encoder without a head, as which any checkpoint can serve."""

    name = "encoder"
    is_fine_tuned = False
    card_fields = frozenset({"pairs"})
    per_position: ClassVar = {"sequence_output": -2}
    signature = frozenset({"sequence_output"})
