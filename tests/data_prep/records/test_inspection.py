"""Records as text, and what inspect_records says of files that are wrong."""


import re

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.errors import InputError
from data_prep import records
from data_prep.records import InspectionSettings, inspection
from tests import scripts

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


def write(path, columns, features):
    with records.RecordWriter(path, features) as writer:
        writer.write({name: np.array(values) for name, values in columns.items()})
    return str(path)


def pretraining_file(path, **changes):
    return write(path, PRETRAINING | changes, records.pretraining_features(9, 4))


def test_script(tmp_path):
    assert "--input_file is required" in scripts.fail("data_prep.inspect_records")
    path = pretraining_file(tmp_path / "a.tfrecord")
    (tmp_path / "vocab.txt").write_text("\n".join(VOCABULARY))

    done = scripts.succeed("data_prep.inspect_records", input_file=path, vocab_file=tmp_path / "vocab.txt")

    assert done.splitlines() == [
        f"{path}, record 0: 7 of 9 ids are real, 3 masked, random next",
        "  [CLS] {may -> [MASK]} ##be [SEP] {so -> not} {so -> so} [SEP]",
        f"{path}, record 1: 5 of 9 ids are real, 1 masked, actual next",
        "  [CLS] {may -> may} [SEP] so [SEP]",
        f"{path}: 2 pre-training records, max_seq_length 9, max_predictions_per_seq 4: 66.7% of their ids are real, "
        "33.3% of these masked, 50.0% random next",
    ]


def test_script_takes_names_without_a_flag_and_says_what_is_wrong(tmp_path):
    path = tmp_path / "a.tfrecord"
    pretraining_file(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])

    done = scripts.run([*scripts.command("data_prep.inspect_records"), str(path)])

    assert done.returncode == 1
    # both records have equally many bytes
    assert done.stderr == (f"inspect_records.py: {path}: is truncated: after 1 whole records, which end at byte "
                           f"{len(whole) // 2}, it ends within a record\n")


def test_unmasked_records(tmp_path, capsys):
    features = records.unmasked_pretraining_features(9)
    path = write(tmp_path / "a", {feature.name: PRETRAINING[feature.name] for feature in features}, features)

    line = inspection.inspect(path, InspectionSettings(num_records=1), VOCABULARY)

    assert line == (f"{path}: 2 unmasked pre-training records, max_seq_length 9: 66.7% of their ids are real, "
                    "50.0% random next")
    assert capsys.readouterr().out.splitlines() == [f"{path}, record 0: 7 of 9 ids are real, random next",
                                                    "  [CLS] [MASK] ##be [SEP] not so [SEP]"]


def test_classification_records(tmp_path, capsys):
    columns = {name: PRETRAINING[name] for name in ("input_ids", "input_mask", "segment_ids")}
    path = write(tmp_path / "a", {**columns, "label_ids": [[3], [0]], "is_real_example": [[1], [0]]},
                 records.classification_features(9))

    line = inspection.inspect(path, InspectionSettings(num_records=2))

    assert line == (f"{path}: 2 classification records, max_seq_length 9: 66.7% of their ids are real, "
                    "labels 0 (1), 3 (1)")
    assert capsys.readouterr().out.splitlines() == [
        f"{path}, record 0: 7 of 9 ids are real, label 3", "  2 4 6 3 7 8 3",
        f"{path}, record 1: 5 of 9 ids are real, label 0, only fills a batch up", "  2 5 3 8 3"]


@pytest.mark.parametrize(("wanted", "message"), [
    ({"max_seq_length": 12}, "a: its records were made with `max_seq_length`=9, not 12"),
    ({"max_predictions_per_seq": 3}, "a: its records were made with `max_predictions_per_seq`=4, not 3"),
])
def test_other_lengths_than_asked(tmp_path, wanted, message):
    path = pretraining_file(tmp_path / "a")

    with pytest.raises(InputError, match=message):
        inspection.inspect(path, InspectionSettings(**wanted))


@pytest.mark.parametrize(("changes", "message"), [
    ({"input_ids": [[2] * 9, [2, 30] + [0] * 7]}, "a, record 1: input_ids holds 30, and `vocab_file` has 9 entries"),
    ({"masked_lm_ids": [[9] * 4] * 2}, "a, record 0: masked_lm_ids holds 9"),
    ({"masked_lm_positions": [[1] * 4, [9] * 4]}, "a, record 1: masked_lm_positions holds 9, beyond the end"),
    ({"input_mask": [[1] * 9, [2] + [0] * 8]}, "a, record 1: input_mask holds 2, which is neither 0 nor 1"),
    ({"masked_lm_weights": [[1] * 4, [float("nan")] * 4]}, "a, record 1: masked_lm_weights holds nan, which is no fin"),
    ({"next_sentence_labels": [[7], [0]]}, "a, record 0: next_sentence_labels holds 7, which is neither 0 nor 1"),
])
def test_numbers_out_of_range(tmp_path, changes, message):
    path = pretraining_file(tmp_path / "a", **changes)

    with pytest.raises(InputError, match=message):
        inspection.inspect(path, ANY, VOCABULARY)


PACKED = {**{name: values for name, values in PRETRAINING.items() if name != "next_sentence_labels"},
          "input_mask": [[1] * 4 + [2] * 3 + [0] * 2] * 2, "positions": [[0, 1, 2, 3, 0, 1, 2, 0, 0]] * 2,
          "next_sentence_labels": [[1, 0, 0], [0, 0, 0]], "next_sentence_positions": [[0, 4, 0]] * 2,
          "next_sentence_weights": [[1, 1, 0]] * 2}


def test_packed_records(tmp_path, capsys):
    path = write(tmp_path / "a", PACKED, records.pretraining_features(9, 4, most_packed=3))
    line = inspection.inspect(path, InspectionSettings(num_records=1), VOCABULARY)
    assert line.startswith(f"{path}: 2 packed pre-training records, max_seq_length 9, max_predictions_per_seq 4: 2.00 "
                           "sequences each, 77.8% of their ids are real, ")
    assert line.endswith(", 25.0% random next")
    said, shown = capsys.readouterr().out.splitlines()
    assert re.search(r"7 of 9 ids are real, 2 sequences, \d masked, random next, actual next$", said)
    assert shown.count("| ") == 1


@pytest.mark.parametrize(("changes", "message"), [
    ({"input_mask": [[1] * 9, [10**12] + [0] * 8]}, "input_mask holds 1000000000000, and a record has at most 3 seq"),
    ({"next_sentence_weights": [[1, 1, 0], [float("inf"), 0, 0]]}, "next_sentence_weights holds inf, which is no fini"),
    ({"positions": [[0] * 9, [9] * 9]}, "a, record 1: positions holds 9, beyond the end"),
    ({"next_sentence_positions": [[0] * 3, [9] * 3]}, "next_sentence_positions holds 9, beyond the end"),
])
def test_damaged_packs(tmp_path, changes, message):
    path = write(tmp_path / "a", {**PACKED, **changes}, records.pretraining_features(9, 4, most_packed=3))
    with pytest.raises(InputError, match=message):
        inspection.inspect(path, ANY, VOCABULARY)


def test_records_of_other_features(tmp_path):
    features = (records.Feature("tokens", 2), records.Feature("length", 1))
    path = write(tmp_path / "a", {"tokens": [[1, 2]], "length": [[2]]}, features)

    with pytest.raises(InputError, match="a: its records have the features length, tokens: neither those of pre-train"):
        inspection.inspect(path, ANY)


def test_records_that_differ(tmp_path):
    path = tmp_path / "a"
    pretraining_file(path)
    longer = records.classification_features(9)
    other = tmp_path / "b"
    write(other, {feature.name: [[0] * feature.length] for feature in longer}, longer)
    path.write_bytes(path.read_bytes() + other.read_bytes())

    with pytest.raises(InputError, match="a, record 2: is_real_example has 1 numbers, not 0"):
        inspection.inspect(str(path), ANY)


def test_records_that_are_no_examples(tmp_path):
    path = tmp_path / "a"
    with tf.io.TFRecordWriter(str(path)) as writer:
        writer.write(b"\xff\xff")

    with pytest.raises(InputError, match=r"a, record 0: is no tf.train.Example"):
        inspection.inspect(str(path), ANY)


@pytest.mark.parametrize(("name", "feature", "message"), [
    ("input_ids", tf.train.Feature(float_list=tf.train.FloatList(value=[2.0] * 9)),
     "a, record 0: input_ids holds floats, not integers"),
    ("masked_lm_weights", tf.train.Feature(int64_list=tf.train.Int64List(value=[1] * 4)),
     "a, record 0: masked_lm_weights holds integers, not floats"),
    ("input_ids", tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"may"] * 9)),
     "a, record 0: input_ids holds bytes, not numbers"),
    ("segment_ids", tf.train.Feature(int64_list=tf.train.Int64List(value=[-1] * 9)),
     "a, record 0: segment_ids holds -1, which is negative"),
])
def test_records_of_others(tmp_path, name, feature, message):
    path = pretraining_file(tmp_path / "a")
    (record, _) = tf.data.TFRecordDataset(path).as_numpy_iterator()
    example = tf.train.Example.FromString(record)
    example.features.feature[name].CopyFrom(feature)
    with tf.io.TFRecordWriter(path) as writer:
        writer.write(example.SerializeToString())

    with pytest.raises(InputError, match=message):
        inspection.inspect(path, ANY)


def test_a_mask_in_the_padding_is_not_shown(tmp_path, capsys):
    path = pretraining_file(tmp_path / "a", masked_lm_positions=[[1, 8, 5, 0], [1, 0, 0, 0]])

    inspection.inspect(path, InspectionSettings(num_records=1), VOCABULARY)

    assert capsys.readouterr().out.splitlines()[1] == "  [CLS] {may -> [MASK]} ##be [SEP] not {so -> so} [SEP]"


def test_records_without_ids(tmp_path):
    features = records.unmasked_pretraining_features(0)
    path = write(tmp_path / "a", {feature.name: np.zeros([1, feature.length], int) for feature in features}, features)

    with pytest.raises(InputError, match="a: input_ids of its records are empty"):
        inspection.inspect(path, ANY)
