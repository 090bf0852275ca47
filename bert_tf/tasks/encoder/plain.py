"""The answer of an encoder without TensorFlow, which graph.py computes in TensorFlow."""

import numpy as np

from bert_tf.tasks.answers import stack, to_byte_strings
from bert_tf.tasks.encoder.pooling import embed
from bert_tf.tasks.metadata import POOLER_OUTPUT
from bert_tf.tokenization.plain import join_texts, were_cut


def answer(metadata, tokenizer, buckets, *texts):
    """Computes the response, whose outputs have the length of the longest row; see `answers`."""
    rows = join_texts(tokenizer, metadata.max_seq_length, *texts)
    # Without a text, the row of an empty one shows the sizes of the outputs.
    empty = [[""] for _ in texts]
    outputs = buckets.run(rows or join_texts(tokenizer, metadata.max_seq_length, *empty))
    hidden_size = outputs[0]["sequence_output"].shape[-1]
    outputs = outputs[: len(rows)]
    width = max((len(row.ids) for row in rows), default=1)
    mask = np.zeros([len(rows), width], np.int32)
    ids = np.full([len(rows), width], tokenizer.pad_id)
    sequence = np.zeros([len(rows), width, hidden_size], np.float32)
    for index, (row, output) in enumerate(zip(rows, outputs, strict=True)):
        count = len(row.ids)
        mask[index, :count] = 1
        ids[index, :count] = row.ids
        sequence[index, :count] = output["sequence_output"][:count]
    pieces = to_byte_strings([[tokenizer.vocabulary[id_] for id_ in row] for row in ids], width)
    all_outputs = {"sequence_output": sequence}
    if metadata.sentence_pooling == POOLER_OUTPUT:
        all_outputs["pooled_output"] = stack(
            [output["pooled_output"] for output in outputs], [hidden_size]
        )
    return {
        "sentence_embedding": embed(all_outputs, mask, metadata),
        "sequence_output": sequence,
        "token_mask": mask,
        "pieces": pieces,
        "was_cut": were_cut(rows),
    }
