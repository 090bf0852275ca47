"""Candidates for each [MASK] of a text."""

from typing import ClassVar

from bert_tf.tasks.base import Kind

MASK = "[MASK]"


class MaskedLM(Kind):
    """The masked language model (section 3.1 of the paper), which any pre-trained checkpoint has."""

    name = "masked_lm"
    is_fine_tuned = False
    hugging_face = ("BertForMaskedLM", "BertForPreTraining")
    head_scope = "cls/predictions/"
    unused_variables = ("bert/pooler/", "cls/seq_relationship/")
    per_position: ClassVar = {"sequence_output": -2}
    signature = frozenset({"num_masks"})
