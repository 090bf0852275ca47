"""How rows of any lengths are cut into the batches that a LiteRT file has graphs for."""

import functools

import numpy as np

from bert_tf.litert.buckets import CALL, plan


def test_rows_are_cut_into_batches_that_cost_least():
    sizes = {16: [1, 8], 32: [8, 1]}
    assert plan([5, 16, 17], sizes) == [(1, 16, 0, 1), (1, 16, 1, 2), (1, 32, 2, 3)]  # 8 places would be too many
    assert plan([9] * 7, sizes) == [(8, 16, 0, 7)]  # seven of eight
    assert plan([16, *[20] * 7], sizes) == [(8, 32, 0, 8)]  # a shorter row fills the batch
    assert sorted(size for size, *_ in plan([1] * 43, {1: [8, 1, 32]})) == [8, 8, 32]
    assert plan([1, 1], {2: [8]}) == [(8, 2, 0, 2)]
    assert plan([], sizes) == []


def test_no_other_batches_cost_less():
    generator = np.random.default_rng(3)
    sizes = {4: [1, 3], 7: [1, 3], 20: [1, 3]}

    @functools.cache
    def least(lengths):  # of all ways to cut, by trying each
        bucket = next((each for each in sizes if lengths and each >= lengths[-1]), 0)
        return min((size * bucket + CALL + least(lengths[:-taken])
                    for size in sizes.get(bucket, ()) for taken in range(1, min(size, len(lengths)) + 1)), default=0)

    for count in range(1, 12):
        lengths = sorted(generator.integers(1, 21, count).tolist())
        batches = plan(lengths, sizes)
        assert sum(size * bucket + CALL for size, bucket, _, _ in batches) == least(tuple(lengths))
        assert [start for _, _, start, _ in batches] == [0, *(end for _, _, _, end in batches[:-1])]
        assert batches[-1][3] == count
        assert all(bucket >= lengths[end - 1] and size >= end - start for size, bucket, start, end in batches)
