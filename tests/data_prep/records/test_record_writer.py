"""Records composed without protobuf, and files of them that appear when they are whole."""

import hashlib
import os

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.files import PARTIAL_SUFFIX
from data_prep import records

FEATURES = (records.Feature("ids", 5), records.Feature("weights", 3, is_float=True), records.Feature("label", 1))


def make_columns(num_records, largest=300):
    """Columns for FEATURES; `ids` runs from 0 in the first place to `largest` in the last one."""
    ids = np.linspace(0, largest, num_records * 5).astype(np.int64).reshape(num_records, 5)
    return {"ids": ids,
            "weights": np.arange(num_records * 3, dtype=np.float32).reshape(num_records, 3) / 7,
            "label": np.arange(num_records)[:, np.newaxis] % 2}


def read_frames(folder, columns, features):
    """The frames of a batch, and their records as TensorFlow, which tests the checksums, reads them."""
    data = bytes(records.compose_frames(columns, features))
    path = folder / "read.tfrecord"
    path.write_bytes(data)
    return data, list(tf.data.TFRecordDataset(str(path)).as_numpy_iterator())


@pytest.mark.parametrize("largest", [0, 127, 128, 16383, 16384, 30521, 2**31 - 1, 2**31, 2**62])
@pytest.mark.parametrize("num_records", [0, 1, 9])
def test_frames_are_read_by_protobuf(tmp_path, largest, num_records):
    columns = make_columns(num_records, largest)

    data, found = read_frames(tmp_path, columns, FEATURES)

    assert len(found) == num_records
    assert len(data) == sum(16 + len(record) for record in found)
    for row, record in enumerate(found):
        example = tf.train.Example.FromString(record)
        assert example.ByteSize() == len(record)
        feature = example.features.feature
        assert sorted(feature) == ["ids", "label", "weights"]
        assert list(feature["ids"].int64_list.value) == columns["ids"][row].tolist()
        assert list(feature["label"].int64_list.value) == columns["label"][row].tolist()
        np.testing.assert_array_equal(
            np.float32(feature["weights"].float_list.value), columns["weights"][row])


@pytest.mark.parametrize("length", [1, 126, 127, 128, 16400])  # lengths of one, two and three bytes
@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int16, np.uint32, np.int64, np.uint64])
def test_a_record_of_one_feature_is_protobufs(tmp_path, length, dtype):
    features = (records.Feature("of a long name " * 10, length),)
    values = (np.arange(3 * length).reshape(3, length) % 120).astype(dtype)

    _, found = read_frames(tmp_path, {features[0].name: values}, features)

    for row, record in zip(values.tolist(), found, strict=True):
        example = tf.train.Example()
        example.features.feature[features[0].name].int64_list.value.extend(map(int, row))
        assert record == example.SerializeToString()


def test_records_of_floats_only(tmp_path):
    features, columns = FEATURES[1:2], {"weights": np.random.default_rng(1).normal(size=(5, 3))}
    data, found = read_frames(tmp_path, columns, features)
    for row, record in zip(columns["weights"], found, strict=True):
        example = tf.train.Example()
        example.features.feature["weights"].float_list.value.extend(row.tolist())
        assert record == example.SerializeToString()
    with records.RecordWriter(tmp_path / "a", features) as writer:
        writer.write(columns)
    assert (writer.num_records, writer.num_bytes) == (5, len(data))
    assert writer.sha256.digest() == hashlib.sha256(data).digest()
    assert (tmp_path / "a").read_bytes() == data


def test_parse_returns_what_was_written(tmp_path):
    path = str(tmp_path / "a.tfrecord")
    columns = make_columns(7)
    with records.RecordWriter(path, FEATURES) as writer:
        writer.write({name: values[:4] for name, values in columns.items()})
        writer.write({name: values[4:] for name, values in columns.items()})
        assert not os.path.exists(path)
        assert writer.num_records == 7

    dataset = tf.data.TFRecordDataset(path).batch(7).map(lambda batch: records.parse(batch, FEATURES))
    (parsed,) = dataset

    assert os.listdir(tmp_path) == ["a.tfrecord"]
    assert {name: value.dtype for name, value in parsed.items()} == {
        "ids": tf.int32, "weights": tf.float32, "label": tf.int32}
    for name, value in parsed.items():
        np.testing.assert_array_equal(value, columns[name])


@pytest.mark.parametrize(("change", "message"), [
    (lambda columns: columns.pop("label"), r"got the features \['ids', 'weights'\]"),
    (lambda columns: columns.update(extra=columns["label"]), r"got the features \['extra', 'ids'"),
    (lambda columns: columns.update(ids=columns["ids"][:, :4]), r"ids has shape \[3, 4\]: .*\[batch, 5\]"),
    (lambda columns: columns.update(ids=columns["ids"][0]), r"ids has shape \[5\]"),
    (lambda columns: columns.update(label=-columns["label"]), "label holds -1"),
])
def test_bad_columns(change, message):
    columns = make_columns(3)
    change(columns)

    with pytest.raises(InputError, match=message):
        records.compose_frames(columns, FEATURES)


def test_columns_of_different_numbers_of_records():
    columns = make_columns(3)
    columns["ids"] = columns["ids"][:2]

    with pytest.raises(ValueError, match="columns of 2 and of 3 records"):
        records.compose_frames(columns, FEATURES)


def test_an_exception_leaves_the_file_that_was_there(tmp_path):
    path = tmp_path / "a.tfrecord"
    path.write_text("old")

    def interrupted():
        with records.RecordWriter(str(path), FEATURES) as writer:
            writer.write(make_columns(3))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()

    assert os.listdir(tmp_path) == ["a.tfrecord"]
    assert path.read_text() == "old"


def test_a_folder_that_is_not_there(tmp_path):
    path = tmp_path / "none" / "a.tfrecord"

    with pytest.raises(OSError, match=r"none/a.tfrecord: cannot be written: .*No such file"):
        records.RecordWriter(path, FEATURES)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full, a device that is always full")
@pytest.mark.parametrize("num_batches", [1, 100])  # the disk is found full on closing; on writing
def test_a_full_disk_leaves_nothing(tmp_path, num_batches):
    path = tmp_path / "a.tfrecord"
    os.symlink("/dev/full", f"{path}{PARTIAL_SUFFIX}")

    def fill():
        with records.RecordWriter(path, FEATURES) as writer:
            for _ in range(num_batches):
                writer.write(make_columns(100))

    with pytest.raises(OSError, match=r"a.tfrecord: cannot be written: .*No space left"):
        fill()

    assert os.listdir(tmp_path) == []
