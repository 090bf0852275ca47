"""Input pipelines of pre-training: order, resuming, and the rows of several hosts."""

import functools
import itertools

import numpy as np
import pytest
import tensorflow as tf

from run.pretraining import inputs
from run.training.host_batches import HostShare
from tests.run.pretraining.toy_records import FEATURES, P, S, write_numbered

pytestmark = pytest.mark.large


def read_first_ids(dataset, batches):
    return [batch["input_ids"][:, 0].numpy().tolist() for batch in dataset.take(batches)]


def test_training_data_is_every_record_once_per_epoch_in_seeded_order(files):
    once = read_first_ids(inputs.pretraining_training_data(files, FEATURES, 5, seed=1), 12)
    for epoch in (once[:6], once[6:]):
        ids = list(itertools.chain(*epoch))
        assert sorted(ids) == list(range(30))
        assert ids != list(range(30))
    assert once[:6] != once[6:]
    assert once == read_first_ids(inputs.pretraining_training_data(files, FEATURES, 5, seed=1), 12)
    assert once != read_first_ids(inputs.pretraining_training_data(files, FEATURES, 5, seed=2), 12)


def test_evaluation_data_is_every_record_once_in_order(files):
    data = inputs.pretraining_evaluation_data(files, FEATURES, 4)
    assert {
        name: (spec.shape.as_list(), spec.dtype) for name, spec in data.element_spec.items()
    } == {
        "input_ids": ([None, S], tf.int32),
        "input_mask": ([None, S], tf.int32),
        "segment_ids": ([None, S], tf.int32),
        "masked_lm_positions": ([None, P], tf.int32),
        "masked_lm_ids": ([None, P], tf.int32),
        "masked_lm_weights": ([None, P], tf.float32),
        "next_sentence_labels": ([None, 1], tf.int32),
    }
    assert list(itertools.chain(*read_first_ids(data, 99))) == list(range(30))


def test_records_come_with_their_epoch_and_position_also_after_resuming(files):
    def read(skip_steps, batches):
        data = inputs.pretraining_training_data(
            files,
            FEATURES,
            7,
            1,
            skip_steps,
            transform=lambda features, epochs, indices: {
                "id": features["input_ids"][:, 0],
                "epoch": epochs,
                "index": indices,
            },
        )
        return [
            {name: value.numpy().tolist() for name, value in batch.items()}
            for batch in data.take(batches)
        ]

    whole = read(0, 12)
    indices = [
        (epoch, index)
        for batch in whole
        for epoch, index in zip(batch["epoch"], batch["index"], strict=True)
    ]
    assert indices == [divmod(number, 30) for number in range(12 * 7)]
    assert read(6, 6) == whole[6:]


def assert_hosts_have_the_batches_of_one(make_batches, hosts, num_batches):
    """Compares the first batches. `make_batches`: Callable (share=) -> dataset."""
    whole = list(make_batches().take(num_batches).as_numpy_iterator())
    shares = [
        make_batches(share=HostShare(index, hosts)).take(num_batches).as_numpy_iterator()
        for index in range(hosts)
    ]
    assert len(whole) == num_batches
    for batch, *parts in zip(whole, *shares, strict=True):
        for name, values in batch.items():
            np.testing.assert_array_equal(
                np.concatenate([part[name] for part in parts]), values, err_msg=name
            )


def add_numbers(features, epochs, indices):
    """Stands in for masking: adds a feature that depends on the record's epoch and position."""
    return {
        **features,
        "number": tf.stack(
            [features["input_ids"][:, 0], tf.cast(100 * epochs + indices, tf.int32)], 1
        ),
    }


def test_the_order_of_several_hosts_is_that_of_one(tmp_path, monkeypatch):
    """Files end within a block, with a block, and just before.

    There are more files and records than buffers hold.
    """
    for name, value in (("SHUFFLE_RECORDS", 11), ("READ_FILES", 3), ("READ_RECORDS", 4)):
        monkeypatch.setattr(inputs, name, value)
    paths = [
        write_numbered(tmp_path / f"{number}.tfrecord", FEATURES, 50 * number, count)
        for number, count in enumerate((4, 9, 1, 16, 7, 8, 3, 22))
    ]
    assert_hosts_have_the_batches_of_one(
        functools.partial(
            inputs.pretraining_training_data,
            paths,
            FEATURES,
            9,
            1,
            skip_steps=7,
            transform=add_numbers,
        ),
        3,
        28,
    )


@pytest.mark.parametrize(
    ("hosts", "batch_size", "num_batches", "drop_remainder"),
    [(2, 8, 4, False), (4, 29, 2, False), (4, 4, 7, True)],
)
def test_evaluation_rows_of_all_hosts_also_if_the_last_batch_is_smaller(
    files, hosts, batch_size, num_batches, drop_remainder
):
    assert_hosts_have_the_batches_of_one(
        functools.partial(
            inputs.pretraining_evaluation_data,
            files,
            FEATURES,
            batch_size,
            drop_remainder,
            transform=add_numbers,
        ),
        hosts,
        num_batches,
    )
