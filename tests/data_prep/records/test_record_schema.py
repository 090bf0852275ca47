"""What a record holds, and how it is parsed."""

import numpy as np
import pytest
import tensorflow as tf

from data_prep import records


def serialize(path, columns, features):
    """Writes a batch of records; returns them as read by TensorFlow, string [B]."""
    with records.RecordWriter(path, features) as writer:
        writer.write(columns)
    return tf.stack(list(tf.data.TFRecordDataset(str(path))))


def test_parse_refuses_another_length(tmp_path):
    written, other = (records.Feature("ids", 5),), (records.Feature("ids", 6),)
    serialized = serialize(tmp_path / "a", {"ids": np.arange(10).reshape(2, 5)}, written)

    with pytest.raises(tf.errors.InvalidArgumentError, match="ids"):
        records.parse(serialized, other)


def test_features_are_the_originals():
    pretraining = records.feature_spec(records.pretraining_features(12, 5))
    classification = records.feature_spec(records.classification_features(12))
    unmasked = records.feature_spec(records.unmasked_pretraining_features(12))

    assert {name: (spec.shape, spec.dtype) for name, spec in pretraining.items()} == {
        "input_ids": ([12], tf.int64), "input_mask": ([12], tf.int64), "segment_ids": ([12], tf.int64),
        "masked_lm_positions": ([5], tf.int64), "masked_lm_ids": ([5], tf.int64),
        "masked_lm_weights": ([5], tf.float32), "next_sentence_labels": ([1], tf.int64)}
    assert unmasked == {name: spec for name, spec in pretraining.items() if not name.startswith("masked_lm")}
    assert {name: (spec.shape, spec.dtype) for name, spec in classification.items()} == {
        "input_ids": ([12], tf.int64), "input_mask": ([12], tf.int64), "segment_ids": ([12], tf.int64),
        "label_ids": ([1], tf.int64), "is_real_example": ([1], tf.int64)}


def test_classification_record(tmp_path):
    features = records.classification_features(11)
    columns = {feature.name: np.full([2, feature.length], i) for i, feature in enumerate(features)}

    parsed = records.parse(serialize(tmp_path / "a", columns, features), features)

    for i, (name, width) in enumerate({"input_ids": 11, "input_mask": 11, "segment_ids": 11, "label_ids": 1,
                                       "is_real_example": 1}.items()):
        np.testing.assert_array_equal(parsed[name], np.full([2, width], i))
