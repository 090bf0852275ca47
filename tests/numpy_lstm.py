"""An LSTM written out from its equations (Hochreiter and Schmidhuber 1997, with forget gates), one sentence at a time.

Gates lie side by side in the order input, forget, cell, output, as in Keras' weights.
"""

import numpy as np


def one_direction(x, kernel, recurrent, bias):
    """x [W, D], kernel [D, 4 * U], recurrent [U, 4 * U], bias [4 * U] -> the outputs [W, U]."""
    state = cell = np.zeros(len(recurrent))
    outputs = []
    for word in x.astype(np.float64):
        into, forget, candidate, out = np.split(word @ kernel + state @ recurrent + bias, 4)
        cell = sigmoid(forget) * cell + sigmoid(into) * np.tanh(candidate)
        state = sigmoid(out) * np.tanh(cell)
        outputs.append(state)
    return np.array(outputs)


def bidirectional(x, weights):
    """x [W, D]; weights: kernel, recurrent and bias of the forward and then of the backward direction -> [W, 2 * U]."""
    forward, backward = one_direction(x, *weights[:3]), one_direction(x[::-1], *weights[3:])[::-1]
    return np.concatenate([forward, backward], axis=1)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))
