"""Records as text, and the errors that inspect_records reports."""

import numpy as np
import pytest
import tensorflow as tf

from data_prep import records
from data_prep.records import inspection
from data_prep.records.settings import InspectionSettings
from tests import scripts
from tests.errors import Message, raises_message, rejects

ANY = InspectionSettings(num_records=0)
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "may", "##be", "not", "so"]

PRETRAINING = {
    "input_ids": [[2, 4, 6, 3, 7, 8, 3, 0, 0], [2, 5, 3, 8, 3, 0, 0, 0, 0]],
    "input_mask": [[1] * 7 + [0] * 2, [1] * 5 + [0] * 4],
    "segment_ids": [[0] * 4 + [1] * 3 + [0] * 2, [0] * 3 + [1] * 2 + [0] * 4],
    "masked_lm_positions": [[1, 4, 5, 0], [1, 0, 0, 0]],
    "masked_lm_ids": [[5, 8, 8, 0], [5, 0, 0, 0]],
    "masked_lm_weights": [[1, 1, 1, 0], [1, 0, 0, 0]],
    "next_sentence_labels": [[1], [0]],
}
PACKED = {
    **{name: values for name, values in PRETRAINING.items() if name != "next_sentence_labels"},
    "input_mask": [[1] * 4 + [2] * 3 + [0] * 2] * 2,
    "positions": [[0, 1, 2, 3, 0, 1, 2, 0, 0]] * 2,
    "next_sentence_labels": [[1, 0, 0], [0, 0, 0]],
    "next_sentence_positions": [[0, 4, 0]] * 2,
    "next_sentence_weights": [[1, 1, 0]] * 2,
}
PACKED_FEATURES = records.pretraining_features(9, 4, max_packed=3)


def write_records(path, columns, features):
    with records.RecordWriter(path, features) as writer:
        writer.write({feature.name: np.array(columns[feature.name]) for feature in features})
    return str(path)


def write_pretraining(path, **changes):
    return write_records(path, PRETRAINING | changes, records.pretraining_features(9, 4))


def test_pretraining_records(tmp_path, write, capsys):
    path = write_pretraining(tmp_path / "a.tfrecord")
    inspection.run(
        InspectionSettings(f"{tmp_path}/*.tfrecord", write("vocab.txt", "\n".join(VOCABULARY)))
    )
    assert capsys.readouterr().out.splitlines() == [
        f"{path}, record 0: 7 of 9 tokens are non-padding, 3 masked, random next",
        "  [CLS] {may -> [MASK]} ##be [SEP] {so -> not} {so -> so} [SEP]",
        f"{path}, record 1: 5 of 9 tokens are non-padding, 1 masked, actual next",
        "  [CLS] {may -> may} [SEP] so [SEP]",
        f"{path}: 2 pre-training records, max_seq_length 9, max_predictions_per_seq 4: 66.7% "
        "non-padding tokens, 33.3% of these masked, 50.0% random next",
    ]


def test_files_can_be_arguments_without_a_flag(tmp_path):
    first, second = (write_pretraining(tmp_path / name) for name in ("a", "b"))
    with scripts.parsed("data_prep.inspect_records", input_file=second) as command:
        assert command.resolve([first]).input_file == f"{first},{second}"


@pytest.mark.parametrize(
    ("columns", "features", "summary", "records_as_text"),
    [
        (
            PRETRAINING,
            records.unmasked_pretraining_features(9),
            "2 unmasked pre-training records, max_seq_length 9: 66.7% non-padding tokens, 50.0% "
            "random next",
            [
                "7 of 9 tokens are non-padding, random next",
                "  [CLS] [MASK] ##be [SEP] not so [SEP]",
                "5 of 9 tokens are non-padding, actual next",
                "  [CLS] may [SEP] so [SEP]",
            ],
        ),
        (
            PRETRAINING | {"label_ids": [[3], [0]], "is_real_example": [[1], [0]]},
            records.classification_features(9),
            "2 classification records, max_seq_length 9: 66.7% non-padding tokens, labels 0 (1), "
            "3 (1)",
            [
                "7 of 9 tokens are non-padding, label 3",
                "  [CLS] [MASK] ##be [SEP] not so [SEP]",
                "5 of 9 tokens are non-padding, label 0, only pads a batch",
                "  [CLS] may [SEP] so [SEP]",
            ],
        ),
        (
            PACKED,
            PACKED_FEATURES,
            "2 packed pre-training records, max_seq_length 9, max_predictions_per_seq 4: 2.00 "
            "sequences per record, 77.8% non-padding tokens, 28.6% of these masked, 25.0% random "
            "next",
            [
                "7 of 9 tokens are non-padding, 2 sequences, 3 masked, random next, actual next",
                "  [CLS] {may -> [MASK]} ##be [SEP] | {so -> not} {so -> so} [SEP]",
                "7 of 9 tokens are non-padding, 2 sequences, 1 masked, actual next, actual next",
                "  [CLS] {may -> may} [SEP] so | [SEP] [PAD] [PAD]",
            ],
        ),
    ],
)
def test_other_kinds_of_records(tmp_path, capsys, columns, features, summary, records_as_text):
    path = write_records(tmp_path / "a", columns, features)
    assert (
        inspection.inspect(path, InspectionSettings(num_records=2), VOCABULARY)
        == f"{path}: {summary}"
    )
    printed = (
        capsys.readouterr()
        .out.replace(f"{path}, record 0: ", "")
        .replace(f"{path}, record 1: ", "")
    )
    assert printed.splitlines() == records_as_text


def test_without_a_vocabulary(tmp_path, capsys):
    inspection.inspect(write_pretraining(tmp_path / "a"), InspectionSettings(num_records=1))
    assert capsys.readouterr().out.splitlines()[1] == "  2 {5 -> 4} 6 3 {8 -> 7} {8 -> 8} 3"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"max_seq_length": 12},
            Message("a", "its records were created with `max_seq_length`=9", "not 12"),
        ),
        (
            {"max_predictions_per_seq": 3},
            Message("a", "its records were created with `max_predictions_per_seq`=4", "not 3"),
        ),
    ],
)
def test_other_lengths_than_requested(tmp_path, settings, message):
    with raises_message(message):
        inspection.inspect(write_pretraining(tmp_path / "a"), InspectionSettings(**settings))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"input_ids": [[2] * 9, [2, 30] + [0] * 7]},
            Message("a", "record 1", "input_ids contains 30", "must be less than 9"),
        ),
        (
            {"masked_lm_ids": [[9] * 4] * 2},
            Message("a", "a, record 0", "masked_lm_ids contains 9"),
        ),
        (
            {"masked_lm_positions": [[1] * 4, [9] * 4]},
            Message("a", "a, record 1", "masked_lm_positions contains 9", "must be less than 9"),
        ),
    ],
)
def test_invalid_numbers(tmp_path, changes, message):
    with raises_message(message):
        inspection.inspect(write_pretraining(tmp_path / "a", **changes), ANY, VOCABULARY)


def test_records_of_different_kinds(tmp_path):
    features = records.classification_features(9)
    other = write_records(
        tmp_path / "b", {feature.name: [[0] * feature.length] for feature in features}, features
    )
    path = write_pretraining(tmp_path / "a")
    with open(path, "ab") as file, open(other, "rb") as rest:
        file.write(rest.read())
    with rejects("a", "a, record 2", "is_real_example has 1 numbers, not 0"):
        inspection.inspect(path, ANY)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (
            (records.Feature("tokens", 2), records.Feature("length", 1)),
            Message("a", "its records have the features", "length, tokens"),
        ),
        (
            records.unmasked_pretraining_features(0),
            Message("a", "its records have empty input_ids"),
        ),
    ],
)
def test_records_that_are_not_for_bert(tmp_path, features, message):
    path = write_records(
        tmp_path / "a", {each.name: np.zeros([1, each.length], int) for each in features}, features
    )
    with raises_message(message):
        inspection.inspect(path, ANY)


@pytest.mark.parametrize(
    ("name", "feature", "message"),
    [
        (
            "input_ids",
            tf.train.Feature(float_list=tf.train.FloatList(value=[2.0] * 9)),
            Message("a", "its records have empty input_ids"),
        ),
        (
            "masked_lm_weights",
            tf.train.Feature(int64_list=tf.train.Int64List(value=[1] * 4)),
            Message("a", "a, record 0", "masked_lm_weights has 0 numbers, not 4"),
        ),
        (
            "segment_ids",
            tf.train.Feature(int64_list=tf.train.Int64List(value=[-1] * 9)),
            Message("a", "a, record 0", "segment_ids contains -1", "must not be negative"),
        ),
        (None, None, Message("a", "a, record 0", "is not a tf.train.Example")),
    ],
)
def test_records_of_other_programs(tmp_path, name, feature, message):
    path = write_pretraining(tmp_path / "a")
    record = next(tf.data.TFRecordDataset(path).as_numpy_iterator())
    example = tf.train.Example.FromString(record)
    if name:
        example.features.feature[name].CopyFrom(feature)
    with tf.io.TFRecordWriter(path) as writer:
        writer.write(example.SerializeToString() if name else b"\xff\xff")
    with raises_message(message):
        inspection.inspect(path, ANY)
