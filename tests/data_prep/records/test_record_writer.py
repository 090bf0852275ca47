"""Records written without protobuf: the bytes match protobuf, and TensorFlow reads them."""

import hashlib
import os

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.errors import InputError
from data_prep import records

FEATURES = (
    records.Feature("ids", 5),
    records.Feature("weights", 3, is_float=True),
    records.Feature("label", 1),
)


def make_columns(num_records):
    """Columns for FEATURES."""
    return {
        "ids": np.arange(num_records * 5).reshape(num_records, 5) * 20_000,
        "weights": np.arange(num_records * 3, dtype=np.float32).reshape(num_records, 3) / 7,
        "label": np.arange(num_records)[:, np.newaxis] % 2,
    }


@pytest.mark.parametrize("length", [1, 126, 127, 128, 16400])  # sizes of one, two, and three bytes
@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int16, np.uint32, np.int64, np.uint64, float])
def test_a_record_of_one_feature_has_the_bytes_of_protobuf(tmp_path, length, dtype):
    features = (records.Feature("a long name " * 10, length, is_float=dtype is float),)
    values = (np.arange(3 * length).reshape(3, length) % 120).astype(dtype)
    values[0, 0] = {np.uint32: 2**31 - 1, np.int64: 2**31, np.uint64: 2**62}.get(dtype, 0)
    path = tmp_path / "a.tfrecord"
    path.write_bytes(records.compose_frames({features[0].name: values}, features))
    found = tf.data.TFRecordDataset(str(path)).as_numpy_iterator()  # Verifies the checksums.
    for row, record in zip(values.tolist(), found, strict=True):
        example = tf.train.Example()
        feature = example.features.feature[features[0].name]
        (feature.float_list if dtype is float else feature.int64_list).value.extend(
            row if dtype is float else map(int, row)
        )
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

    (parsed,) = (
        tf.data.TFRecordDataset(path).batch(7).map(lambda batch: records.parse(batch, FEATURES))
    )
    assert {name: value.dtype for name, value in parsed.items()} == {
        "ids": tf.int32,
        "weights": tf.float32,
        "label": tf.int32,
    }
    for name, value in parsed.items():
        np.testing.assert_array_equal(value, columns[name])
    with pytest.raises(tf.errors.InvalidArgumentError, match="ids"):
        records.parse(
            tf.stack(list(tf.data.TFRecordDataset(path))),
            (records.Feature("ids", 6), *FEATURES[1:]),
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda columns: columns.update(ids=columns["ids"][:, :4]),
            r"ids has shape \[3, 4\]; .*\[batch, 5\]",
        ),
        (lambda columns: columns.update(label=-columns["label"]), "label contains -1"),
    ],
)
def test_invalid_columns(change, message):
    columns = make_columns(3)
    change(columns)
    with pytest.raises(InputError, match=message):
        records.compose_frames(columns, FEATURES)
