"""Numeric results of a model: probabilities, stacks of rows, and numbers for JSON."""

import numpy as np

DECIMALS = 6  # Decimal places of a number in JSON; float32 has about seven digits.


def softmax(logits):
    """Computes the softmax of float32 [..., L]."""
    scores = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return scores / scores.sum(axis=-1, keepdims=True)


def stack(arrays, shape):
    """Stacks N arrays of the given shape, where N can be 0, as float32 [N, *shape]."""
    return np.array(arrays, np.float32).reshape([len(arrays), *shape])


def to_json_number(value):
    """Rounds a number to a float with DECIMALS digits after the decimal point."""
    return round(float(value), DECIMALS)


def to_json_numbers(values):
    """Rounds float [N] to a list of float with DECIMALS digits after the decimal point."""
    return np.round(values.astype(np.float64), DECIMALS).tolist()
