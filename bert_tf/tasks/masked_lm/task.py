"""Candidates for each [MASK] of a text or a pair of texts."""

import functools
from typing import ClassVar

import numpy as np

from bert_tf.tasks.kind import Kind, round_for_json, softmax, stack
from bert_tf.tokenization.plain import pack_texts, were_cut
from bert_tf.tokenization.rows import encode_strings
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

    def answer(self, metadata, tokenizer, buckets, *texts):
        rows = pack_texts(
            tokenizer,
            metadata.max_seq_length,
            *texts,
            tokenize=functools.partial(_tokenize, tokenizer),
        )
        outputs = buckets.run(rows)
        positions = [
            [position for position, id_ in enumerate(row.ids) if id_ == tokenizer.mask_id]
            for row in rows
        ]
        counts = np.array(list(map(len, positions)), np.int32)
        shape = [len(rows), max([1, *counts]), metadata.top_k]
        piece_ids = np.full(shape, tokenizer.pad_id, np.int32)
        probabilities = np.zeros(shape, np.float32)
        pieces = np.full(shape, b"", object)
        vectors = [
            output["sequence_output"][position]
            for output, row in zip(outputs, positions, strict=True)
            for position in row
        ]
        if vectors:
            best = buckets.run_head(np.array(vectors))
            is_real = np.arange(shape[1]) < counts[:, np.newaxis]
            piece_ids[is_real] = best["piece_ids"]
            probabilities[is_real] = best["probabilities"]
            pieces[is_real] = encode_strings(
                [[tokenizer.vocabulary[id_] for id_ in row] for row in best["piece_ids"]], shape[2]
            )
        answer = {
            "pieces": pieces,
            "piece_ids": piece_ids,
            "probabilities": probabilities,
            "num_masks": counts,
            "was_cut": were_cut(rows),
        }
        if metadata.next_sentence and metadata.pairs:
            logits = stack([output["next_sentence_logits"] for output in outputs], [2])
            answer["is_next"] = softmax(logits)[:, 0]
        return answer

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


def _tokenize(tokenizer, text):
    """Returns the IDs of a text, in which each [MASK] is one token: list of int.

    The tokenizer, like the original's, reads a literal [MASK] as words.
    """
    first, *others = text.split(MASK)
    return [
        *tokenizer.ids(first),
        *(id_ for part in others for id_ in (tokenizer.mask_id, *tokenizer.ids(part))),
    ]
