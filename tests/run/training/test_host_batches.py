"""Each host's rows, and the part of them that each of its replicas gets."""

import numpy as np
import pytest
import tensorflow as tf

from run.training import host_batches
from run.training.host_batches import WHOLE, HostShare


def test_rows_of_all_hosts_are_the_batch():
    rows = list(range(12))
    assert rows[WHOLE.rows(12)] == rows
    assert [rows[HostShare(index, 3).rows(12)] for index in range(3)] == [
        rows[:4],
        rows[4:8],
        rows[8:],
    ]
    assert [rows[HostShare(index, 4).rows(5)] for index in range(4)] == [[0, 1], [2, 3], [4], []]


class HostsOfTwoReplicas:
    """A stand-in for a strategy over three hosts: gives the dataset of each."""

    def distribute_datasets_from_function(self, of_host):
        return [of_host(tf.distribute.InputContext(3, index, 6)) for index in range(3)]


def numbers(count, batch_size, drop_remainder):
    """Returns a dataset of batches of two features of `count` examples.

    The second feature may have any width.
    """
    data = tf.data.Dataset.from_tensor_slices(
        {"x": np.arange(count), "wide": np.arange(3 * count).reshape(count, 3)}
    )
    return data.batch(batch_size, drop_remainder=drop_remainder)


def by_replica(strategy, batches, count):
    """Returns, for each of the first `count` batches, a list of what each replica gets of it."""
    iterator = iter(batches)
    found = []
    for _ in range(count):
        batch = next(iterator)
        for part in zip(
            *(strategy.experimental_local_results(batch[name]) for name in ("x", "wide")),
            strict=True,
        ):
            np.testing.assert_array_equal(
                part[1], 3 * part[0].numpy()[:, np.newaxis] + np.arange(3)
            )
        found.append(
            [part.numpy().tolist() for part in strategy.experimental_local_results(batch["x"])]
        )
    return found


def test_batches_for_training(two_replicas):
    def make(share):
        assert share == WHOLE
        return numbers(13, 4, drop_remainder=True).repeat()

    distributed = host_batches.distribute(two_replicas, make, is_endless=True)
    assert by_replica(two_replicas, distributed, 3) == [
        [[0, 1], [2, 3]],
        [[4, 5], [6, 7]],
        [[8, 9], [10, 11]],
    ]
    shapes = [spec.shape.as_list() for spec in distributed.element_spec["wide"]._component_specs]
    assert shapes == [[2, 3], [2, 3]]


@pytest.mark.parametrize(
    ("is_endless", "drop_remainder", "last"),
    [
        (True, True, None),
        (False, True, None),
        (False, False, [[[24, 25], [26, 27]], [[28], []], [[], []]]),
    ],
    ids=["training", "evaluation", "with a smaller batch"],
)
def test_replicas_of_several_hosts_have_the_rows_of_the_batch_in_order(
    is_endless, drop_remainder, last
):
    def make(share):
        batches = numbers(29, 12, drop_remainder)
        return batches.map(
            lambda batch: {name: value[share.rows(12)] for name, value in batch.items()}
        )

    expected = [
        [
            [[12 * step + 4 * host + 2 * replica + row for row in range(2)] for replica in range(2)]
            for host in range(3)
        ]
        for step in range(2)
    ]
    expected += [last] if last else []
    found = []
    for host in host_batches.distribute(HostsOfTwoReplicas(), make, is_endless=is_endless):
        elements = host.take(2 * len(expected)) if is_endless else host
        found.append([element["x"].tolist() for element in elements.as_numpy_iterator()])
    assert found == [[part for step in expected for part in step[host]] for host in range(3)]
