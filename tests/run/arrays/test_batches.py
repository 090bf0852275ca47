import itertools

import numpy as np
import pytest

from run.arrays import batches
from run.training.host_batches import HostShare

NUM_EXAMPLES, LENGTH, BATCH = 47, 12, 4


@pytest.fixture
def arrays():
    lengths = np.random.default_rng(3).integers(3, LENGTH, NUM_EXAMPLES)
    mask = (np.arange(LENGTH) < lengths[:, np.newaxis]).astype(np.int32)
    return {"input_ids": mask * np.arange(1, NUM_EXAMPLES + 1, dtype=np.int32)[:, np.newaxis], "input_mask": mask,
            "label_ids": np.arange(NUM_EXAMPLES, dtype=np.int32), "weights": np.ones([NUM_EXAMPLES, 2], np.float32)}


def taken(dataset, count):
    return [{name: value.numpy() for name, value in batch.items()} for batch in itertools.islice(dataset, count)]


def test_any_seed(arrays):
    first, second = (taken(batches.training_batches(arrays, BATCH, seed), 3) for seed in (-5, 5))
    assert any((one["label_ids"] != other["label_ids"]).any() for one, other in zip(first, second, strict=True))


def test_every_example_comes_once_before_any_comes_again(arrays):
    steps = 2 * NUM_EXAMPLES
    rows = np.concatenate([batch["label_ids"] for batch in taken(batches.training_batches(arrays, BATCH, 5), steps)])
    counts = np.bincount(rows[: NUM_EXAMPLES * (len(rows) // NUM_EXAMPLES)])
    assert counts.max() - counts.min() <= 2  # a window of batches may end within an epoch
    static = taken(batches.training_batches(arrays, BATCH, 5, static_shapes=True), steps)
    rows = np.concatenate([batch["label_ids"] for batch in static]).reshape(-1, NUM_EXAMPLES)
    np.testing.assert_array_equal(np.sort(rows, axis=1), np.tile(np.arange(NUM_EXAMPLES), (len(rows), 1)))


def test_batches_are_of_similar_length_and_cut_to_the_longest(arrays):
    lengths = batches.lengths_of(arrays["input_mask"])
    spreads = []
    for batch in taken(batches.training_batches(arrays, BATCH, 5), 30):
        rows = batch["label_ids"]
        assert batch["input_ids"].shape == (BATCH, lengths[rows].max())
        assert batch["weights"].shape == (BATCH, 2)
        np.testing.assert_array_equal(batch["input_mask"].sum(axis=1), lengths[rows])
        np.testing.assert_array_equal(batch["input_ids"][:, 0], rows + 1)
        spreads.append(np.ptp(lengths[rows]))
    assert np.mean(spreads) < 2  # at random 5.6


def test_static_shapes(arrays):
    for batch in taken(batches.training_batches(arrays, BATCH, 5, static_shapes=True), 20):
        assert batch["input_mask"].shape == (BATCH, LENGTH)


@pytest.mark.parametrize("static_shapes", [False, True])
@pytest.mark.parametrize("first_step", [1, 11, 40])
def test_a_stopped_run_goes_on_with_the_same_batches(arrays, first_step, static_shapes):
    whole = taken(batches.training_batches(arrays, BATCH, 5, static_shapes=static_shapes), first_step + 15)
    rest = taken(batches.training_batches(arrays, BATCH, 5, first_step=first_step, static_shapes=static_shapes), 15)
    for expected, batch in zip(whole[first_step:], rest, strict=True):
        for name in arrays:
            np.testing.assert_array_equal(batch[name], expected[name])


@pytest.mark.parametrize("static_shapes", [False, True])
@pytest.mark.parametrize("hosts", [2, 4])
def test_rows_of_all_hosts_are_the_batches_of_one(arrays, hosts, static_shapes):
    options = {"first_step": 7, "static_shapes": static_shapes}
    shares = [batches.training_batches(arrays, BATCH, 5, **options, share=HostShare(index, hosts))
              for index in range(hosts)]
    assert shares[0].element_spec["weights"].shape == [BATCH // hosts, 2]
    whole = taken(batches.training_batches(arrays, BATCH, 5, **options), 30)
    for batch, *parts in zip(whole, *(taken(share, 30) for share in shares), strict=True):
        for name, values in batch.items():
            np.testing.assert_array_equal(np.concatenate([part[name] for part in parts]), values)


def test_order_depends_on_seed_and_epoch(arrays):
    def order(seed):
        taken_batches = taken(batches.training_batches(arrays, BATCH, seed), 24)
        return np.concatenate([batch["label_ids"] for batch in taken_batches])

    assert not np.array_equal(order(5), order(6))
    assert not np.array_equal(order(5)[:40], order(5)[44:84])


def test_no_example_comes_twice_in_a_batch_within_an_epoch(arrays):
    for batch in taken(batches.training_batches(arrays, BATCH, 5), 11):
        assert len(set(batch["label_ids"])) == BATCH


def test_batch_larger_than_the_data(arrays):
    few = {name: values[:3] for name, values in arrays.items()}
    (batch,) = taken(batches.training_batches(few, 7, 1), 1)
    assert np.bincount(batch["label_ids"]).tolist() in ([3, 2, 2], [2, 3, 2], [2, 2, 3])


def test_lengths_of_choices():
    mask = np.array([[[1, 1, 0], [1, 0, 0]], [[1, 0, 0], [1, 0, 0]]], np.int32)
    assert batches.lengths_of(mask).tolist() == [2, 1]
    cut = batches.take_rows({"input_mask": mask}, np.array([1]))
    assert cut["input_mask"].shape == (1, 2, 1)
