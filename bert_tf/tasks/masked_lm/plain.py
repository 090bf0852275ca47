"""The answer of a masked LM without TensorFlow, which graph.py computes in TensorFlow."""

import functools

import numpy as np

from bert_tf.tasks.answers import softmax, stack, to_byte_strings
from bert_tf.tasks.masked_lm.task import MASK
from bert_tf.tokenization.plain import join_texts, were_cut


def answer(metadata, tokenizer, buckets, *texts):
    """Computes the response of serving_default; see `bert_tf.tasks.answers`."""
    rows = join_texts(
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
    best = _find_best(buckets, outputs, positions)
    if best:
        is_real = np.arange(shape[1]) < counts[:, np.newaxis]
        piece_ids[is_real] = best["piece_ids"]
        probabilities[is_real] = best["probabilities"]
        pieces[is_real] = to_byte_strings(
            [[tokenizer.vocabulary[id_] for id_ in row] for row in best["piece_ids"]], shape[2]
        )
    response = {
        "pieces": pieces,
        "piece_ids": piece_ids,
        "probabilities": probabilities,
        "num_masks": counts,
        "was_cut": were_cut(rows),
    }
    if metadata.next_sentence and metadata.pairs and not buckets.has_head:
        response["is_next"] = stack([output["is_next"] for output in outputs], [])
    elif metadata.next_sentence and metadata.pairs:
        logits = stack([output["next_sentence_logits"] for output in outputs], [2])
        response["is_next"] = softmax(logits)[:, 0]
    return response


def _find_best(buckets, outputs, positions):
    """Returns "piece_ids" and "probabilities" [MA, k] of all masks, a dict; {} without a mask.

    `positions`: Lists of the masks' positions in each row of the outputs.
    """
    if not any(positions):
        return {}
    if buckets.has_head:
        vectors = [
            output["sequence_output"][position]
            for output, row in zip(outputs, positions, strict=True)
            for position in row
        ]
        return buckets.run_head(np.array(vectors))
    # The graph contains the head, and each row's masks are first in its outputs.
    return {
        name: np.concatenate(
            [output[name][: len(row)] for output, row in zip(outputs, positions, strict=True)]
        )
        for name in ("piece_ids", "probabilities")
    }


def _tokenize(tokenizer, text):
    """Returns the IDs of a text, in which each [MASK] is one token: list of int.

    The tokenizer, like the original's, reads a literal [MASK] as words.
    """
    first, *others = text.split(MASK)
    return [
        *tokenizer.ids(first),
        *(id_ for part in others for id_ in (tokenizer.mask_id, *tokenizer.ids(part))),
    ]
