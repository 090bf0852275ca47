"""Embeddings of a text or a pair of texts."""

from typing import ClassVar

import numpy as np

from bert_tf.tasks.base import Kind, stack, to_json_numbers
from bert_tf.tokenization.rows import encode_strings, pack_texts, were_cut

POOLER = "bert/pooler/"  # Prefix of the names of its variables, which some checkpoints lack.


class Encoder(Kind):
    """The encoder without a head; any checkpoint can serve as it."""

    name = "encoder"
    is_fine_tuned = False
    fields: ClassVar = {"pairs": False, "has_pooler": True}
    unused_variables = (POOLER,)
    per_position: ClassVar = {"sequence_output": -2}

    def answer(self, metadata, tokenizer, buckets, *texts):
        """See `Kind`; the outputs have the length of the longest row of the request."""
        rows = pack_texts(tokenizer, metadata.max_seq_length, *texts)
        outputs = buckets.run(rows)
        width = max((len(row.ids) for row in rows), default=1)
        mask = np.zeros([len(rows), width], np.int32)
        ids = np.full([len(rows), width], tokenizer.pad_id)
        hidden_size = buckets.output_width("sequence_output")
        sequence = np.zeros([len(rows), width, hidden_size], np.float32)
        for index, (row, output) in enumerate(zip(rows, outputs, strict=True)):
            count = len(row.ids)
            mask[index, :count], ids[index, :count] = 1, row.ids
            sequence[index, :count] = output["sequence_output"][:count]
        pieces = encode_strings([[tokenizer.vocabulary[id_] for id_ in row] for row in ids], width)
        answer = {"sequence_output": sequence, "input_mask": mask, "pieces": pieces, "was_cut": were_cut(rows)}
        if metadata.has_pooler:
            answer["pooled_output"] = stack([output["pooled_output"] for output in outputs], [hidden_size])
        return answer

    def json_rows(self, outputs):
        """{"vector": [...]}, with the pooled output; without a pooler, with the mean of the outputs of all tokens."""
        vectors = outputs.get("pooled_output")
        if vectors is None:
            vectors = average_tokens(outputs["sequence_output"], outputs["input_mask"])
        return [{"vector": to_json_numbers(vector)} for vector in vectors]


def average_tokens(sequence_output, input_mask):
    """Averages the outputs of each row's tokens: float32 [B, S, H], int [B, S] -> float32 [B, H]."""
    mask = np.asarray(input_mask, np.float32)[:, :, np.newaxis]
    return (sequence_output * mask).sum(axis=1) / mask.sum(axis=1)
