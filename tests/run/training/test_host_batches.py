"""Each host's rows, and the part of them that each of its replicas gets."""

import numpy as np
import pytest
import tensorflow as tf

from run.training import host_batches
from run.training.host_batches import WHOLE, HostShare


def test_rows_of_all_hosts_are_the_batch():
    rows = list(range(12))
    assert rows[WHOLE.rows(12)] == rows
    assert [rows[HostShare(index, 3).rows(12)] for index in range(3)] == [rows[:4], rows[4:8], rows[8:]]
    assert [rows[HostShare(index, 4).rows(5)] for index in range(4)] == [[0, 1], [2, 3], [4], []]


@pytest.fixture
def one_device():
    return tf.distribute.OneDeviceStrategy("CPU:0")


def numbers(count, batch_size, drop_remainder):
    """Dataset of batches of two features of `count` examples, of which the second may be of any width."""
    data = tf.data.Dataset.from_tensor_slices({"x": np.arange(count), "wide": np.arange(3 * count).reshape(count, 3)})
    return data.batch(batch_size, drop_remainder=drop_remainder)


def by_replica(strategy, batches, count):
    """For each of the first `count` batches what each replica gets of it: lists."""
    iterator = iter(batches)
    found = []
    for _ in range(count):
        batch = next(iterator)
        for part in zip(*(strategy.experimental_local_results(batch[name]) for name in ("x", "wide")), strict=True):
            np.testing.assert_array_equal(part[1], 3 * part[0].numpy()[:, np.newaxis] + np.arange(3))
        found.append([part.numpy().tolist() for part in strategy.experimental_local_results(batch["x"])])
    return found


def test_batches_for_training(one_device, two_replicas):
    def make(share):
        assert share == WHOLE
        return numbers(13, 4, drop_remainder=True).repeat()

    assert by_replica(one_device, host_batches.endless(one_device, make), 2) == [[[0, 1, 2, 3]], [[4, 5, 6, 7]]]
    distributed = host_batches.endless(two_replicas, make)
    assert by_replica(two_replicas, distributed, 3) == [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8, 9], [10, 11]]]
    shapes = [spec.shape.as_list() for spec in distributed.element_spec["wide"]._component_specs]
    assert shapes == [[2, 3], [2, 3]]


def test_batches_for_evaluation_whose_last_is_smaller(one_device, two_replicas):
    assert by_replica(one_device, host_batches.finite(one_device, lambda share: numbers(5, 4, False)), 2) == [
        [[0, 1, 2, 3]], [[4]]]
    distributed = host_batches.finite(two_replicas, lambda share: numbers(9, 4, False))
    assert by_replica(two_replicas, distributed, 3) == [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8], []]]
    assert sum(1 for _ in distributed) == 3
    distributed = host_batches.finite(two_replicas, lambda share: numbers(9, 4, True))
    assert by_replica(two_replicas, distributed, 2) == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
    assert sum(1 for _ in distributed) == 2
