"""A map of heads on which those lie near each other that attend alike."""

import numpy as np
from sklearn import manifold

MOST_STEPS, TOLERANCE = 1000, 1e-9


def two_dimensions(divergences):
    """Multidimensional scaling of divergences [K, K] -> float64 [K, 2], the same each time.

    Where the heads would lie by classical scaling, the first two principal coordinates, is what the iterations of
    scikit-learn's SMACOF begin with.
    """
    count = len(divergences)
    if count < 3:  # any distance fits on a line
        return np.array([[0.0, 0.0], [float(divergences[0, -1]), 0.0]])[:count]
    centring = np.eye(count) - 1 / count
    values, vectors = np.linalg.eigh(-0.5 * centring @ divergences**2 @ centring)
    start = vectors[:, [-1, -2]] * np.sqrt(np.maximum(values[[-1, -2]], 0))
    start *= np.where(start[np.abs(start).argmax(axis=0), [0, 1]] < 0, -1, 1)  # of two mirror images always the same
    found, _ = manifold.smacof(divergences, n_components=2, init=start, n_init=1, max_iter=MOST_STEPS, eps=TOLERANCE,
                               random_state=0)
    return found
