"""The answer of a classifier without TensorFlow, which graph.py computes in TensorFlow."""

import numpy as np

from bert_tf.tasks.answers import softmax, stack, to_byte_strings
from bert_tf.tasks.classifier.task import Classifier
from bert_tf.tokenization.plain import join_texts, were_cut


def answer(metadata, tokenizer, buckets, *texts):
    """Computes the response of serving_default; see `bert_tf.tasks.answers`."""
    rows = join_texts(tokenizer, metadata.max_seq_length, *texts)
    logits = stack(
        [output["logits"] for output in buckets.run(rows)], [Classifier().num_outputs(metadata)]
    )
    was_cut = were_cut(rows)
    if not metadata.labels:
        value = logits[:, 0]
        if metadata.activation:
            value = 0.5 * (1 + np.tanh(0.5 * value))  # The sigmoid, without overflow.
        return {"value": value, "was_cut": was_cut}
    names = to_byte_strings([metadata.labels] * len(rows), len(metadata.labels))
    if metadata.multi_label:
        return {
            "labels": names,
            "probabilities": 1 / (1 + np.exp(-logits)),
            "has_label": logits > 0,
            "was_cut": was_cut,
        }
    return {
        "label": to_byte_strings([metadata.labels[number] for number in logits.argmax(axis=1)]),
        "labels": names,
        "probabilities": softmax(logits),
        "was_cut": was_cut,
    }
