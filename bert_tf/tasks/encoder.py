"""Embeddings of a text or a pair of texts."""

from typing import ClassVar

import numpy as np

from bert_tf.tasks import numbers
from bert_tf.tasks.base import Kind
from bert_tf.tokenization.rows import encode_strings, pack_texts, were_cut


class Encoder(Kind):
    """The encoder without a head; any checkpoint can serve as it."""

    name = "encoder"
    is_fine_tuned = False
    card_fields = frozenset({"pairs"})
    per_position: ClassVar = {"sequence_output": -2}
    signature = frozenset({"sequence_output"})

    def answer(self, card, tokenizer, buckets, *texts):
        """See `Kind`; the outputs have the length of the longest row of the request."""
        rows = pack_texts(tokenizer, card.max_seq_length, *texts)
        outputs = buckets.run(rows)
        width = max((len(row.ids) for row in rows), default=1)
        mask = np.zeros([len(rows), width], np.int32)
        ids = np.full([len(rows), width], tokenizer.pad_id)
        sequence = np.zeros([len(rows), width, card.hidden_size], np.float32)
        for place, (row, output) in enumerate(zip(rows, outputs, strict=True)):
            count = len(row.ids)
            mask[place, :count], ids[place, :count] = 1, row.ids
            sequence[place, :count] = output["sequence_output"][:count]
        pieces = encode_strings([[tokenizer.vocabulary[id_] for id_ in row] for row in ids], width)
        pooled = numbers.stack([output["pooled_output"] for output in outputs], [card.hidden_size])
        return {"pooled_output": pooled, "sequence_output": sequence, "input_mask": mask, "pieces": pieces,
                "was_cut": were_cut(rows)}

    def json_rows(self, outputs):
        """{"vector": [...]}, with the pooled output."""
        return [{"vector": numbers.to_json_numbers(vector)} for vector in outputs["pooled_output"]]
