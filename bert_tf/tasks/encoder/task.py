"""Embeddings of a text or a pair of texts."""

from typing import ClassVar

import numpy as np

from bert_tf.tasks.kind import Kind, round_for_json, stack
from bert_tf.tokenization.plain import pack_texts, were_cut
from bert_tf.tokenization.rows import encode_strings
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

    def answer(self, metadata, tokenizer, buckets, *texts):
        """Computes the response, whose outputs have the length of the longest row; see `Kind`."""
        rows = pack_texts(tokenizer, metadata.max_seq_length, *texts)
        # Without a text, the row of an empty one shows the sizes of the outputs.
        empty = [[""] for _ in texts]
        outputs = buckets.run(rows or pack_texts(tokenizer, metadata.max_seq_length, *empty))
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
        pieces = encode_strings([[tokenizer.vocabulary[id_] for id_ in row] for row in ids], width)
        answer = {
            "sequence_output": sequence,
            "input_mask": mask,
            "pieces": pieces,
            "was_cut": were_cut(rows),
        }
        if metadata.has_pooler:
            answer["pooled_output"] = stack(
                [output["pooled_output"] for output in outputs], [hidden_size]
            )
        if metadata.sentence_pooling:
            answer["sentence_embedding"] = pool_tokens(
                sequence, mask, metadata.sentence_pooling, metadata.normalize
            )[:, : metadata.truncate_dim]
        return answer

    def json_rows(self, outputs):
        """Returns dicts {"vector": [...]} with the sentence embedding, or else the pooled output.

        Without either, the vector is the mean of the outputs of all tokens.
        """
        vectors = next(
            (outputs[name] for name in ("sentence_embedding", "pooled_output") if name in outputs),
            None,
        )
        if vectors is None:
            vectors = pool_tokens(outputs["sequence_output"], outputs["input_mask"])
        return [{"vector": round_for_json(vector)} for vector in vectors]


def pool_tokens(sequence_output, input_mask, pooling="mean", normalize=False):
    """Pools the outputs of a text's tokens to its embedding, like sentence-transformers.

    The tokens include [CLS] and [SEP].

    Args:
      sequence_output: float32 [B, S, H]. Outputs of the last layer.
      input_mask: int [B, S]. 1 for tokens, 0 for padding.
      pooling: str. "mean", "max", or "cls", the output of [CLS].
      normalize: bool. Whether to divide embeddings [B, H] by their L2 norm.
    """
    mask = np.asarray(input_mask, np.float32)[:, :, np.newaxis]
    if pooling == "cls":
        embeddings = sequence_output[:, 0]
    elif pooling == "max":
        embeddings = np.where(mask > 0, sequence_output, -np.inf).max(axis=1)
    else:
        embeddings = (sequence_output * mask).sum(axis=1) / mask.sum(axis=1)
    if normalize:
        embeddings = embeddings / np.linalg.norm(embeddings, axis=-1, keepdims=True)
    return embeddings
