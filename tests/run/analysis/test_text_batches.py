"""Batches of texts for the analysis of attention."""

import numpy as np

from run.analysis import reading


def test_batches_bound_the_memory_of_attention():
    """The attention of a batch has at most MAX_PAIRS pairs of tokens per head, or one text."""
    lengths = np.array([128] * 40 + [32] * 300 + [1024])
    batches = list(reading._batches(lengths, batch_size=200))
    sizes = [(length, len(positions)) for positions, length in batches]
    # 2^18 pairs are 16 texts of 128 tokens; the third batch has shorter texts as well.
    assert sizes == [(1024, 1), (128, 16), (128, 16), (128, 16), (32, 200), (32, 92)]
    assert sorted(np.concatenate([positions for positions, _ in batches])) == [*range(341)]
    shorter = reading._batches(lengths, batch_size=200, max_length=128)
    assert sum(len(positions) for positions, _ in shorter) == 340
