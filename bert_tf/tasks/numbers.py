"""Numbers of a model: probabilities, stacks of rows, and numbers for JSON."""

import numpy as np

PLACES = 6  # decimal places of a number in JSON; float32 has about seven digits


def softmax(logits):
    """float32 [..., L] -> the same shape."""
    scores = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return scores / scores.sum(axis=-1, keepdims=True)


def stack(arrays, shape):
    """Returns N arrays of a shape, 0 of them too, as float32 [N, *shape]."""
    return np.array(arrays, np.float32).reshape([len(arrays), *shape])


def to_json_number(value):
    """Returns a number as a float of PLACES decimal places."""
    return round(float(value), PLACES)


def to_json_numbers(values):
    """Returns float [N] as a list of float of PLACES decimal places."""
    return np.round(values.astype(np.float64), PLACES).tolist()
