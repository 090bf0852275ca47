import itertools

import numpy as np
import pytest
import tensorflow as tf

from data_prep import records
from run.driver import inputs

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
    arrays = {"input_ids": np.arange(33)[:, np.newaxis]}
    whole = first_ids(inputs.training_data_of_arrays(arrays, 4, seed=1), 15)
    assert whole[8:] == first_ids(inputs.training_data_of_arrays(arrays, 4, seed=1, skip_steps=8), 7)


def test_batches_have_the_features_shapes_and_types(files):
    batch = next(iter(inputs.pretraining_training_data(files, FEATURES, 4, seed=1)))
    assert {name: (value.shape.as_list(), value.dtype) for name, value in batch.items()} == {
        "input_ids": ([4, S], tf.int32), "input_mask": ([4, S], tf.int32), "segment_ids": ([4, S], tf.int32),
        "masked_lm_positions": ([4, P], tf.int32), "masked_lm_ids": ([4, P], tf.int32),
        "masked_lm_weights": ([4, P], tf.float32), "next_sentence_labels": ([4, 1], tf.int32)}


def test_evaluation_data_is_every_record_once_in_order(files):
    batches = first_ids(inputs.pretraining_evaluation_data(files, FEATURES, 4), 99)
    assert list(itertools.chain(*batches)) == list(range(30))
    arrays = {"input_ids": np.arange(10)[:, np.newaxis]}
    assert first_ids(inputs.evaluation_data_of_arrays(arrays, 4), 99) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_records_that_do_not_suit_the_model(files, tmp_path):
    inputs.check_pretraining_records(files[1], FEATURES, vocab_size=20)
    with pytest.raises(ValueError, match=r"1\.tfrecord: holds the id 19, the model's vocab_size is 19"):
        inputs.check_pretraining_records(files[1], FEATURES, vocab_size=19)
    with pytest.raises(ValueError, match="not pre-training records of max_seq_length 8 and max_predictions_per_seq 3"):
        inputs.check_pretraining_records(files[1], records.pretraining_features(8, P), vocab_size=20)
    empty = tmp_path / "empty.tfrecord"
    empty.write_bytes(b"")
    with pytest.raises(ValueError, match=r"empty\.tfrecord: holds no records"):
        inputs.check_pretraining_records(str(empty), FEATURES, vocab_size=20)
    broken = tmp_path / "broken.tfrecord"
    broken.write_bytes(b"not a record file")
    with pytest.raises(ValueError, match=r"broken\.tfrecord: not pre-training records"):
        inputs.check_pretraining_records(str(broken), FEATURES, vocab_size=20)
