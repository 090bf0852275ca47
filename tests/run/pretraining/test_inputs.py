import functools
import itertools

import numpy as np
import pytest
import tensorflow as tf

from data_prep import records
from data_prep.pretraining.instances import InstanceSettings, masking
from run.pretraining import dynamic_masking, epochs, inputs, record_checks
from run.training.host_batches import HostShare

S, P = 7, 3
FEATURES = records.pretraining_features(S, P)


def write_records(path, first, count):
    """Records whose first id counts up from `first`."""
    columns = {feature.name: np.zeros([count, feature.length], np.float32 if feature.is_float else np.int64)
               for feature in FEATURES}
    columns["input_ids"][:, 0] = np.arange(first, first + count)
    with records.RecordWriter(str(path), FEATURES) as writer:
        writer.write(columns)
    return str(path)


@pytest.fixture
def files(tmp_path):
    return [write_records(tmp_path / f"{number}.tfrecord", 10 * number, 10) for number in range(3)]


def first_ids(dataset, batches):
    return [batch["input_ids"][:, 0].numpy().tolist() for batch in dataset.take(batches)]


def test_training_data_is_every_record_once_an_epoch_in_seeded_order(files):
    once = first_ids(inputs.pretraining_training_data(files, FEATURES, 5, seed=1), 12)
    for epoch in (once[:6], once[6:]):
        ids = list(itertools.chain(*epoch))
        assert sorted(ids) == list(range(30))
        assert ids != list(range(30))
    assert once[:6] != once[6:]
    assert once == first_ids(inputs.pretraining_training_data(files, FEATURES, 5, seed=1), 12)
    assert once != first_ids(inputs.pretraining_training_data(files, FEATURES, 5, seed=2), 12)


def test_a_resumed_run_sees_what_it_would_have_seen(files):
    whole = first_ids(inputs.pretraining_training_data(files, FEATURES, 4, seed=1), 15)
    assert whole[8:] == first_ids(inputs.pretraining_training_data(files, FEATURES, 4, seed=1, skip_steps=8), 7)


def test_batches_have_the_features_shapes_and_types(files):
    batch = next(iter(inputs.pretraining_training_data(files, FEATURES, 4, seed=1)))
    assert {name: (value.shape.as_list(), value.dtype) for name, value in batch.items()} == {
        "input_ids": ([4, S], tf.int32), "input_mask": ([4, S], tf.int32), "segment_ids": ([4, S], tf.int32),
        "masked_lm_positions": ([4, P], tf.int32), "masked_lm_ids": ([4, P], tf.int32),
        "masked_lm_weights": ([4, P], tf.float32), "next_sentence_labels": ([4, 1], tf.int32)}


def test_evaluation_data_is_every_record_once_in_order(files):
    batches = first_ids(inputs.pretraining_evaluation_data(files, FEATURES, 4), 99)
    assert list(itertools.chain(*batches)) == list(range(30))


def test_records_come_with_their_epoch_and_a_place_of_their_own_in_it(files):
    """What random draws for a record may depend on; the same after a resume in the second epoch."""
    def numbered(skip_steps, batches):
        data = inputs.pretraining_training_data(
            files, FEATURES, 7, 1, skip_steps,
            transform=lambda features, epochs, places: {"id": features["input_ids"][:, 0], "epoch": epochs,
                                                        "place": places})
        return [{name: value.numpy().tolist() for name, value in batch.items()} for batch in data.take(batches)]

    whole = numbered(0, 12)
    places = [(epoch, place) for batch in whole for epoch, place in zip(batch["epoch"], batch["place"], strict=True)]
    assert places == [divmod(number, 30) for number in range(12 * 7)]
    assert numbered(6, 6) == whole[6:]


def assert_hosts_have_the_batches_of_one(make_batches, hosts, num_batches):
    """make_batches: (share=) -> dataset; that of all rows has so many batches at least, and all are compared."""
    whole = list(make_batches().take(num_batches).as_numpy_iterator())
    shares = [make_batches(share=HostShare(index, hosts)).take(num_batches).as_numpy_iterator()
              for index in range(hosts)]
    assert len(whole) == num_batches
    for batch, *parts in zip(whole, *shares, strict=True):
        for name, values in batch.items():
            np.testing.assert_array_equal(np.concatenate([part[name] for part in parts]), values, err_msg=name)


def masks_of_places(features, epochs, places):
    """A stand-in for masking: what is drawn for a record depends on its epoch and place."""
    return {**features, "draws": tf.stack([features["input_ids"][:, 0], tf.cast(100 * epochs + places, tf.int32)], 1)}


@pytest.mark.parametrize(("hosts", "transform", "skip_steps"), [
    (1, None, 0), (2, None, 0), (2, masks_of_places, 5), (4, masks_of_places, 5)])
def test_rows_of_all_hosts_are_the_batches_of_one(files, hosts, transform, skip_steps):
    """Over three epochs, whose ends fall within batches."""
    assert_hosts_have_the_batches_of_one(
        functools.partial(inputs.pretraining_training_data, files, FEATURES, 8, 1, skip_steps, transform=transform,
                          limits={"input_ids": 30}), hosts, 10)


@pytest.mark.parametrize("skip_steps", [0, 7])
def test_the_order_of_several_hosts_is_that_of_one(tmp_path, monkeypatch, skip_steps):
    """Files that end within a block, with one and just before; more of them than are read, records than are held."""
    for name, value in (("SHUFFLE_RECORDS", 11), ("READ_FILES", 3), ("READ_RECORDS", 4)):
        monkeypatch.setattr(epochs, name, value)
    paths = [write_records(tmp_path / f"{number}.tfrecord", 50 * number, count)
             for number, count in enumerate((4, 9, 1, 16, 7, 8, 3, 22))]
    assert_hosts_have_the_batches_of_one(
        functools.partial(inputs.pretraining_training_data, paths, FEATURES, 9, 1, skip_steps,
                          transform=masks_of_places), 3, 28)


@pytest.mark.parametrize("hosts", [2, 4])
def test_masks_drawn_by_all_hosts_are_those_of_one(tmp_path, hosts):
    settings = InstanceSettings(max_seq_length=S, max_predictions_per_seq=P, masking="dynamic", do_whole_word_mask=True)
    ids = np.random.default_rng(1).integers(4, 30, [45, S])
    ids[:, 0], ids[:, -1] = 1, 2
    path = str(tmp_path / "unmasked.tfrecord")
    with records.RecordWriter(path, settings.features) as writer:
        writer.write({"input_ids": ids, "input_mask": np.ones_like(ids), "segment_ids": np.zeros_like(ids),
                      "next_sentence_labels": ids[:, :1]})
    masker = dynamic_masking.make_masker(settings, masking.Vocabulary(30, 1, 2, 3, np.arange(30) >= 24), seed=7)
    assert_hosts_have_the_batches_of_one(
        functools.partial(inputs.pretraining_training_data, [path], settings.features, 8, 1, 4, transform=masker),
        hosts, 9)
    assert_hosts_have_the_batches_of_one(
        functools.partial(inputs.pretraining_evaluation_data, [path], settings.features, 44, transform=masker),
        hosts, 2)


@pytest.mark.parametrize(("batch_size", "num_batches"), [(8, 4), (29, 2)])
@pytest.mark.parametrize("hosts", [2, 4])
def test_evaluation_batches_of_hosts_too_though_the_last_is_smaller(files, batch_size, num_batches, hosts):
    assert_hosts_have_the_batches_of_one(
        functools.partial(inputs.pretraining_evaluation_data, files, FEATURES, batch_size, transform=masks_of_places),
        hosts, num_batches)
    assert_hosts_have_the_batches_of_one(
        functools.partial(inputs.pretraining_evaluation_data, files, FEATURES, 4, drop_remainder=True), hosts, 7)


def test_records_that_do_not_suit_the_model(files, tmp_path):
    record_checks.check_pretraining_records(files[:2], FEATURES, {"input_ids": 20})
    with pytest.raises(ValueError, match=r"1\.tfrecord: the record at byte [\d,]+ holds 19 in input_ids, the model has "
                                         "room for 0 to 18"):
        record_checks.check_pretraining_records(files[:2], FEATURES, {"input_ids": 19})
    with pytest.raises(ValueError, match=r"0\.tfrecord: the record at byte 0 has 7 numbers in input_ids, 8 are "
                                         "expected: it was made for other sizes"):
        record_checks.check_pretraining_records(files, records.pretraining_features(8, P), {})
    empty = tmp_path / "empty.tfrecord"
    empty.write_bytes(b"")
    with pytest.raises(ValueError, match=r"empty\.tfrecord: holds no records"):
        record_checks.check_pretraining_records([str(empty)], FEATURES, {})
    broken = tmp_path / "broken.tfrecord"
    broken.write_bytes(b"not a record file")
    with pytest.raises(ValueError, match=r"broken\.tfrecord: is no TFRecord file, or damaged"):
        record_checks.check_pretraining_records([str(broken)], FEATURES, {})


def test_a_record_met_in_training_is_named_by_file_and_byte(files, tmp_path):
    with open(files[2], "rb") as file:
        data = bytearray(file.read())
    size = len(data) // 10  # of a record
    data[7 * size + 50] ^= 1
    with open(files[2], "wb") as file:
        file.write(data)
    with (pytest.raises(ValueError, match=rf"2\.tfrecord: the record at byte {7 * size:,} is damaged or cut off"),
          record_checks.bad_records_named(files, FEATURES, {})):
        first_ids(inputs.pretraining_training_data(files, FEATURES, 5, seed=1), 6)
    with (pytest.raises(ValueError, match=rf"2\.tfrecord: the record at byte {7 * size:,} is damaged or cut off"),
          record_checks.bad_records_named(files, FEATURES, {})):
        first_ids(inputs.pretraining_training_data(files, FEATURES, 6, seed=1, share=HostShare(1, 2)), 6)
    limits = {"input_ids": 13}
    with (pytest.raises(ValueError, match=rf"1\.tfrecord: the record at byte {3 * size:,} holds 13 in input_ids"),
          record_checks.bad_records_named(files[:2], FEATURES, limits)):
        first_ids(inputs.pretraining_training_data(files[:2], FEATURES, 5, seed=1, limits=limits), 4)
    with (pytest.raises(tf.errors.InvalidArgumentError, match="mine"),
          record_checks.bad_records_named(files[:2], FEATURES, {})):
        tf.debugging.Assert(False, ["mine"])


def test_counting_records(files, tmp_path):
    assert record_checks.count_records(files) == [10, 10, 10]
    short = tmp_path / "short.tfrecord"
    with open(files[0], "rb") as file:
        short.write_bytes(file.read()[:-3])
    with pytest.raises(ValueError, match=r"short\.tfrecord: is damaged or cut off: record 10 does not end"):
        record_checks.count_records([str(short)])
