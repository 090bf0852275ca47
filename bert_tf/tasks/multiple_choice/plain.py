"""The answer of multiple choice without TensorFlow, which graph.py computes in TensorFlow."""

import numpy as np

from bert_tf.tasks.answers import softmax, stack
from bert_tf.tokenization.plain import join_ids, were_cut


def answer(metadata, tokenizer, buckets, *texts):
    """Computes the response of serving_default; see `bert_tf.tasks.answers`."""
    texts, choices = texts
    num_choices = len(choices[0]) if choices else 1
    rows = [
        join_ids(tokenizer, first, tokenizer.ids(choice), metadata.max_seq_length)
        for first, row in zip(map(tokenizer.ids, texts), choices, strict=True)
        for choice in row
    ]
    logits = stack([output["logits"] for output in buckets.run(rows)], [1])
    probabilities = softmax(logits.reshape([-1, num_choices]))
    return {
        "choice": probabilities.argmax(axis=-1).astype(np.int32),
        "probabilities": probabilities,
        "was_cut": were_cut(rows).reshape([-1, num_choices]).any(axis=1),
    }
