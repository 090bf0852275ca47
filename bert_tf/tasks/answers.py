"""Answers without TensorFlow, for LiteRT: ANSWERS of `bert_tf.tasks`, and arrays for them.

plain.py of each kind has a function that computes the response to a request in NumPy, as the kind's
Servable (graph.py) does in TensorFlow:

    answer(metadata, tokenizer, buckets, *texts)

    Args:
      metadata, tokenizer: TaskMetadata of an export, and PlainTokenizer.
      buckets: bert_tf.serving.buckets.Buckets, which runs the model on rows of IDs.
      *texts: Lists of str in the order of the kind's `inputs`, all of length B.

    Returns:
      Dict of arrays [B, ...] with the names, shapes, and types of serving_default; strings are
      bytes.
"""

import numpy as np


def softmax(logits):
    """Computes the softmax of float32 [..., LA]."""
    scores = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return scores / scores.sum(axis=-1, keepdims=True)


def stack(arrays, shape):
    """Stacks n arrays of the given shape, where n can be 0, as float32 [n, *shape]."""
    return np.array(arrays, np.float32).reshape([len(arrays), *shape])


def to_byte_strings(rows, width=None):
    """Converts texts to an array of bytes.

    Args:
      rows: List of B str or, with a `width`, of B lists of str.
      width: int. Number of columns, or None.

    Returns:
      object [B], or [B, width] padded with b"".
    """
    if width is None:
        result = np.empty(len(rows), object)
        result[:] = [text.encode() for text in rows]
        return result
    result = np.full([len(rows), width], b"", object)
    for row, texts in enumerate(rows):
        result[row, : len(texts)] = [text.encode() for text in texts]
    return result
