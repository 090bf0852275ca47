"""Records composed without protobuf, and files of them that appear when they are whole."""

import hashlib
import os

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.files import PARTIAL_SUFFIX
from data_prep import records
from data_prep.machine import is_available

needs_numba = pytest.mark.skipif(not is_available(), reason="needs numba")
FEATURES = (records.Feature("ids", 5), records.Feature("weights", 3, is_float=True), records.Feature("label", 1))


def make_columns(num_records, largest=300):
    """Columns for FEATURES; `ids` runs from 0 in the first place to `largest` in the last one."""
    ids = np.linspace(0, largest, num_records * 5).astype(np.int64).reshape(num_records, 5)
    return {"ids": ids,
            "weights": np.arange(num_records * 3, dtype=np.float32).reshape(num_records, 3) / 7,
            "label": np.arange(num_records)[:, np.newaxis] % 2}


@pytest.mark.parametrize("largest", [0, 127, 128, 16383, 16384, 30521, 2**31, 2**62])
def test_serialize_is_read_by_protobuf(largest):
    columns = make_columns(4, largest)

    examples = [tf.train.Example.FromString(record) for record in records.serialize(columns, FEATURES)]

    assert len(examples) == 4
    for row, example in enumerate(examples):
        feature = example.features.feature
        assert sorted(feature) == ["ids", "label", "weights"]
        assert list(feature["ids"].int64_list.value) == columns["ids"][row].tolist()
        assert list(feature["label"].int64_list.value) == columns["label"][row].tolist()
        np.testing.assert_array_equal(
            np.float32(feature["weights"].float_list.value), columns["weights"][row])


@pytest.mark.parametrize("length", [1, 126, 127, 128, 16400])  # lengths of one, two and three bytes
def test_serialize_is_as_long_as_protobuf(length):
    features = (records.Feature("name", length),)
    values = np.arange(length)[np.newaxis] % 200

    (record,) = records.serialize({"name": values}, features)

    example = tf.train.Example()
    example.features.feature["name"].int64_list.value.extend(values[0].tolist())
    assert record == example.SerializeToString()


def test_serialize_of_no_records():
    assert records.serialize(make_columns(0), FEATURES) == []


@needs_numba
@pytest.mark.parametrize("largest", [0, 127, 128, 16383, 16384, 30521, 2**31, 2**62])
@pytest.mark.parametrize("num_records", [0, 1, 9])
def test_compiled_records_are_the_same(largest, num_records):
    columns = make_columns(num_records, largest)
    assert bytes(records.frames(columns, FEATURES, is_compiled=True)) == records.frames(columns, FEATURES)


@needs_numba
@pytest.mark.parametrize("length", [1, 126, 127, 128, 16400])
@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int16, np.uint32, np.int64, np.uint64])
def test_compiled_records_of_any_integers(length, dtype):
    features = (records.Feature("of a long name " * 10, length), records.Feature("b", 2))
    columns = {features[0].name: (np.arange(3 * length).reshape(3, length) % 120).astype(dtype), "b": np.ones((3, 2))}
    columns["b"] = columns["b"].astype(np.int64)
    assert bytes(records.frames(columns, features, is_compiled=True)) == records.frames(columns, features)


@needs_numba
def test_compiled_records_of_floats_alone(tmp_path):
    features, columns = FEATURES[1:2], {"weights": np.random.default_rng(1).normal(size=(5, 3))}
    whole = records.frames(columns, features)
    assert bytes(records.frames(columns, features, is_compiled=True)) == whole
    with records.RecordWriter(tmp_path / "a", features, is_compiled=True) as writer:
        writer.write(columns)
    assert (writer.num_records, writer.num_bytes) == (5, len(whole))
    assert writer.sha256.digest() == hashlib.sha256(whole).digest()
    assert (tmp_path / "a").read_bytes() == whole


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
def test_serialize_refuses(change, message):
    columns = make_columns(3)
    change(columns)

    with pytest.raises(ValueError, match=message):
        records.serialize(columns, FEATURES)
    if is_available():
        with pytest.raises(ValueError, match=message):
            records.frames(columns, FEATURES, is_compiled=True)


def test_serialize_refuses_columns_of_different_numbers_of_records():
    columns = make_columns(3)
    columns["ids"] = columns["ids"][:2]

    with pytest.raises(ValueError, match="argument 3 is longer than argument"):
        records.serialize(columns, FEATURES)
    with pytest.raises(ValueError, match="columns of 2 and of 3 records"):
        records.frames(columns, FEATURES, is_compiled=True)


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
