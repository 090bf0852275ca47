"""Training batches of arrays: order, grouping by length, resuming, and several hosts."""

import itertools

import numpy as np
import pytest

from run.training import batches
from run.training.host_batches import HostShare
from run.training.padding import Padding

NUM_EXAMPLES = 47
LENGTH = 12
BATCH = 4


@pytest.fixture(scope="module")
def arrays():
    lengths = np.random.default_rng(3).integers(3, LENGTH, NUM_EXAMPLES)
    mask = (np.arange(LENGTH) < lengths[:, np.newaxis]).astype(np.int32)
    return {
        "input_ids": mask * np.arange(1, NUM_EXAMPLES + 1, dtype=np.int32)[:, np.newaxis],
        "input_mask": mask,
        "label_ids": np.arange(NUM_EXAMPLES, dtype=np.int32),
        "weights": np.ones([NUM_EXAMPLES, 2], np.float32),
    }


def take(arrays, count, seed=5, **options):
    dataset = batches.training_batches(arrays, BATCH, seed, **options)
    return [
        {name: value.numpy() for name, value in batch.items()}
        for batch in itertools.islice(dataset, count)
    ]


def get_rows(taken):
    return np.concatenate([batch["label_ids"] for batch in taken])


def test_every_example_is_used_once_before_any_is_repeated(arrays):
    taken = take(arrays, 2 * NUM_EXAMPLES)
    assert all(len(set(batch["label_ids"])) == BATCH for batch in taken[:11])  # The first epoch.
    counts = np.bincount(get_rows(taken))
    assert counts.max() - counts.min() <= 2  # A window of batches can end within an epoch.
    rows = get_rows(take(arrays, 2 * NUM_EXAMPLES, padding=Padding.STATIC)).reshape(
        -1, NUM_EXAMPLES
    )
    np.testing.assert_array_equal(
        np.sort(rows, axis=1), np.tile(np.arange(NUM_EXAMPLES), (len(rows), 1))
    )


def test_batches_have_similar_lengths_and_are_truncated(arrays):
    lengths = batches.count_tokens(arrays["input_mask"])
    spreads = []
    for batch in take(arrays, 30):
        rows = batch["label_ids"]
        assert batch["input_ids"].shape == (BATCH, lengths[rows].max())
        assert batch["weights"].shape == (BATCH, 2)
        np.testing.assert_array_equal(batch["input_mask"].sum(axis=1), lengths[rows])
        np.testing.assert_array_equal(batch["input_ids"][:, 0], rows + 1)
        spreads.append(np.ptp(lengths[rows]))
    assert np.mean(spreads) < 2  # 5.6 in random batches.
    assert all(
        batch["input_mask"].shape == (BATCH, LENGTH)
        for batch in take(arrays, 20, padding=Padding.STATIC)
    )


@pytest.mark.parametrize("padding", [Padding.DYNAMIC, Padding.STATIC])
def test_resumed_runs_and_hosts_have_the_same_batches(arrays, padding):
    expected = take(arrays, 55, padding=padding)
    for first_step in (1, 11, 40):
        resumed = take(arrays, 15, first_step=first_step, padding=padding)
        hosts = [
            take(
                arrays,
                15,
                first_step=first_step,
                padding=padding,
                share=HostShare(index, 2),
            )
            for index in range(2)
        ]
        for whole, again, *parts in zip(
            expected[first_step : first_step + 15], resumed, *hosts, strict=True
        ):
            for name, values in whole.items():
                np.testing.assert_array_equal(again[name], values)
                np.testing.assert_array_equal(
                    np.concatenate([part[name] for part in parts]), values
                )


def test_the_order_depends_on_the_seed_and_the_epoch(arrays):
    first, other, negative = (get_rows(take(arrays, 24, seed)) for seed in (5, 6, -5))
    assert not np.array_equal(first, other)
    assert not np.array_equal(first, negative)
    assert not np.array_equal(first[:40], first[44:84])


def test_a_batch_larger_than_the_data(arrays):
    few = {name: values[:3] for name, values in arrays.items()}
    (batch,) = itertools.islice(batches.training_batches(few, 7, 1), 1)
    assert sorted(np.bincount(batch["label_ids"])) == [2, 2, 3]


def test_the_length_of_an_example_is_that_of_its_longest_choice():
    mask = np.array([[[1, 1, 0], [1, 0, 0]], [[1, 0, 0], [1, 0, 0]]], np.int32)
    assert batches.count_tokens(mask).tolist() == [2, 1]
    assert batches.take_rows({"input_mask": mask}, np.array([1]))["input_mask"].shape == (1, 2, 1)
