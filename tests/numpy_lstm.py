"""An LSTM (Hochreiter and Schmidhuber 1997, with forget gates) in NumPy, for one sentence.

The order of the gates in the weights is that of Keras: input, forget, cell, output.
"""

import numpy as np


def one_direction(x, kernel, recurrent, bias):
    """Computes the outputs of an LSTM in one direction.

    Args:
      x: [W, D].
      kernel: [D, 4 * U].
      recurrent: [U, 4 * U].
      bias: [4 * U].

    Returns:
      [W, U].
    """
    state = cell = np.zeros(len(recurrent))
    outputs = []
    for word in x.astype(np.float64):
        into, forget, candidate, out = np.split(word @ kernel + state @ recurrent + bias, 4)
        cell = sigmoid(forget) * cell + sigmoid(into) * np.tanh(candidate)
        state = sigmoid(out) * np.tanh(cell)
        outputs.append(state)
    return np.array(outputs)


def bidirectional(x, weights):
    """Computes the outputs of an LSTM in both directions.

    Args:
      x: [W, D].
      weights: Kernel, recurrent kernel, and bias of the forward and backward directions.

    Returns:
      [W, 2 * U].
    """
    forward = one_direction(x, *weights[:3])
    backward = one_direction(x[::-1], *weights[3:])[::-1]
    return np.concatenate([forward, backward], axis=1)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))
