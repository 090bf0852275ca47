"""Records written without protobuf: TensorFlow reads the same numbers, and the bytes match protobuf."""

import hashlib
import os

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.errors import InputError
from data_prep import records

FEATURES = (records.Feature("ids", 5), records.Feature("weights", 3, is_float=True), records.Feature("label", 1))


def make_columns(num_records, largest=300):
    """Columns for FEATURES. `ids` goes from 0 at the first position to `largest` at the last."""
    ids = np.linspace(0, largest, num_records * 5).astype(np.int64).reshape(num_records, 5)
    return {"ids": ids,
            "weights": np.arange(num_records * 3, dtype=np.float32).reshape(num_records, 3) / 7,
            "label": np.arange(num_records)[:, np.newaxis] % 2}


def read_frames(folder, columns, features):
    """The frames of a batch, and their records as TensorFlow reads them, which verifies the checksums."""
    data = bytes(records.compose_frames(columns, features))
    path = folder / "read.tfrecord"
    path.write_bytes(data)
    return data, list(tf.data.TFRecordDataset(str(path)).as_numpy_iterator())


@pytest.mark.parametrize("largest", [0, 127, 128, 16383, 16384, 30521, 2**31 - 1, 2**31, 2**62])
@pytest.mark.parametrize("num_records", [0, 1, 9])
def test_protobuf_parses_the_frames(tmp_path, largest, num_records):
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
        np.testing.assert_array_equal(np.float32(feature["weights"].float_list.value), columns["weights"][row])


@pytest.mark.parametrize("length", [1, 126, 127, 128, 16400])  # sizes of one, two, and three bytes
@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int16, np.uint32, np.int64, np.uint64, float])
def test_a_record_of_one_feature_has_the_bytes_of_protobuf(tmp_path, length, dtype):
    features = (records.Feature("a long name " * 10, length, is_float=dtype is float),)
    values = (np.arange(3 * length).reshape(3, length) % 120).astype(dtype)
    _, found = read_frames(tmp_path, {features[0].name: values}, features)
    for row, record in zip(values.tolist(), found, strict=True):
        example = tf.train.Example()
        feature = example.features.feature[features[0].name]
        (feature.float_list if dtype is float else feature.int64_list).value.extend(
            row if dtype is float else map(int, row))
        assert record == example.SerializeToString()


def test_parse_returns_the_written_numbers(tmp_path):
    path = str(tmp_path / "a.tfrecord")
    columns = make_columns(7)
    with records.RecordWriter(path, FEATURES) as writer:
        writer.write({name: values[:4] for name, values in columns.items()})
        writer.write({name: values[4:] for name, values in columns.items()})
        assert not os.path.exists(path)
    data = (tmp_path / "a.tfrecord").read_bytes()
    assert (writer.num_records, writer.num_bytes) == (7, len(data))
    assert writer.sha256.digest() == hashlib.sha256(data).digest()

    (parsed,) = tf.data.TFRecordDataset(path).batch(7).map(lambda batch: records.parse(batch, FEATURES))
    assert {name: value.dtype for name, value in parsed.items()} == {
        "ids": tf.int32, "weights": tf.float32, "label": tf.int32}
    for name, value in parsed.items():
        np.testing.assert_array_equal(value, columns[name])
    with pytest.raises(tf.errors.InvalidArgumentError, match="ids"):
        records.parse(tf.stack(list(tf.data.TFRecordDataset(path))), (records.Feature("ids", 6), *FEATURES[1:]))


@pytest.mark.parametrize(("change", "message"), [
    (lambda columns: columns.pop("label"), r"the columns \['ids', 'weights'\] do not match"),
    (lambda columns: columns.update(extra=columns["label"]), r"the columns \['extra', 'ids'"),
    (lambda columns: columns.update(ids=columns["ids"][:, :4]), r"ids has shape \[3, 4\]; .*\[batch, 5\]"),
    (lambda columns: columns.update(ids=columns["ids"][0]), r"ids has shape \[5\]"),
    (lambda columns: columns.update(label=-columns["label"]), "label contains -1"),
    (lambda columns: columns.update(ids=columns["ids"][:2]), "columns have different numbers of records: 2 and 3"),
])
def test_invalid_columns(change, message):
    columns = make_columns(3)
    change(columns)
    with pytest.raises(InputError if "records" not in message else ValueError, match=message):
        records.compose_frames(columns, FEATURES)
