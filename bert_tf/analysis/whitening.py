"""Whitening of vectors: mean 0, covariance the identity (Su et al. 2021, "Whitening Sentence Representations").

Cosines of BERT's vectors are all large: a few directions, common to all texts, make up most of them. After whitening
each direction counts the same.

Legend: n vectors, L layers, H width.
"""

import json
import tempfile

import numpy as np

LEAST_VARIANCE = 1e-6  # as a share of the largest: what varies less is rounding, and becomes 0


class Whitening:
    """Mean and covariance of vectors, summed up in float64, and what they make of vectors.

    Args:
      shape: (L, H).
    """

    def __init__(self, shape):
        layers, width = shape
        self._count = 0
        self._sum, self._products = np.zeros([layers, width]), np.zeros([layers, width, width])

    def add(self, vectors):
        """Takes float [n, L, H] into account."""
        by_layer = np.asarray(vectors, np.float64).transpose(1, 0, 2)
        self._count += by_layer.shape[1]
        self._sum += by_layer.sum(axis=1)
        self._products += by_layer.transpose(0, 2, 1) @ by_layer

    def finish(self):
        """Computes what a call needs, of all that was added."""
        self._mean = self._sum / max(1, self._count)
        covariance = self._products / max(1, self._count) - self._mean[:, :, np.newaxis] * self._mean[:, np.newaxis]
        values, directions = np.linalg.eigh(covariance)
        counts = values > LEAST_VARIANCE * np.maximum(values[:, -1:], 1e-30)
        scales = np.where(counts, 1 / np.sqrt(np.where(counts, values, 1)), 0)
        # Turned back, so that a direction stays as near to what it was as it can.
        self._matrices = (directions * scales[:, np.newaxis]) @ directions.transpose(0, 2, 1)
        return self

    def __call__(self, vectors):
        """float [n, L, H] -> float32 [n, L, H]."""
        return np.einsum("nlh,lhk->nlk", vectors - self._mean, self._matrices).astype(np.float32)


def whitened(rows, shape):
    """Yields rows with their vectors whitened; they wait in a temporary file until all are known.

    Args:
      rows: iterable of (pieces, list of str, vectors float32 [n, L, H]).
      shape: (L, H).
    """
    whitening = Whitening(shape)
    with tempfile.TemporaryFile() as file:
        for pieces, vectors in rows:
            whitening.add(vectors)
            file.write(json.dumps(pieces).encode() + b"\n")
            file.write(np.ascontiguousarray(vectors, "<f4").tobytes())
        whitening.finish()
        end = file.tell()
        file.seek(0)
        while file.tell() < end:
            pieces = json.loads(file.readline())
            size = 4 * len(pieces) * shape[0] * shape[1]
            yield pieces, whitening(np.frombuffer(file.read(size), "<f4").reshape(len(pieces), *shape))
