"""Checks of record files, before training and in it."""

import gzip
import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from data_prep import records
from data_prep.pretraining.instances import InstanceSettings
from run.pretraining import inputs, record_checks
from run.pretraining.data import PretrainingData
from run.pretraining.settings import PretrainingSettings
from run.training.host_batches import HostShare
from tests.errors import Message, check_message, raises_message, rejects
from tests.run.pretraining.toy_records import FEATURES, P, S, write_records


@pytest.fixture
def damaged(files, tmp_path):
    """Paths of the three files, the last with a flipped bit in its record 7."""
    with open(files[2], "rb") as file:
        data = bytearray(file.read())
    size = len(data) // 10
    data[7 * size + 50] ^= 1
    (tmp_path / "2.tfrecord").write_bytes(data)
    return [*files[:2], str(tmp_path / "2.tfrecord")]


def test_numbers_and_lengths_that_do_not_match_the_model(files):
    record_checks.check_pretraining_records(files[:2], FEATURES, {"input_ids": 20})
    with rejects("1.tfrecord", "a record contains 10 in input_ids", "only 0 to 9"):
        record_checks.check_pretraining_records(files[:2], FEATURES, {"input_ids": 10})
    with rejects(
        "0.tfrecord",
        "a record has 7 numbers",
        "input_ids",
        "8 are expected",
        "set `max_seq_length` and",
    ):
        record_checks.check_pretraining_records(files, records.pretraining_features(8, P), {})


def test_empty_files_are_skipped(files, tmp_path, capsys):
    (tmp_path / "empty").touch()
    (tmp_path / "_SUCCESS").write_text("{}")
    shutil.copy(files[0], tmp_path / "a.tfrecord")
    shutil.copy(files[1], tmp_path / "b.tfrecord")
    config = BertConfig(20)

    def read(**patterns):
        return PretrainingData(
            PretrainingSettings(**patterns, max_seq_length=S, max_predictions_per_seq=P), config
        )

    data = read(input_file=str(tmp_path))
    assert data.files == [str(tmp_path / "a.tfrecord"), str(tmp_path / "b.tfrecord")]
    check_message(
        capsys.readouterr().err,
        "note",
        "skipping 1 file without records",
        f"such as {tmp_path}/empty",
    )
    for name, patterns in (
        ("input_file", {"input_file": f"{tmp_path}/empty"}),
        ("eval_input_file", {"input_file": files[0], "eval_input_file": f"{tmp_path}/empty"}),
    ):
        with pytest.raises(InputError, match=f"^`{name}`={tmp_path}/empty: contains no records$"):
            read(**patterns)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            gzip.compress(b"records", mtime=0),
            Message(None, "is compressed", "only read uncompressed", "run gunzip"),
        ),
        (
            b"not a record file",
            Message(None, "is corrupted", "not a TFRecord file", "inspect_records finds the byte"),
        ),
    ],
)
def test_files_without_records(tmp_path, content, message):
    (tmp_path / "a.tfrecord").write_bytes(content)
    with raises_message(message, file=tmp_path / "a.tfrecord"):
        record_checks.check_pretraining_records([str(tmp_path / "a.tfrecord")], FEATURES, {})


PACKED = {"objective": "doc_sentences", "pack_sequences": True}


@pytest.mark.parametrize(
    ("kind", "wanted", "message"),
    [
        ({}, {"masking": "dynamic"}, Message(None, "contain masks", "set `masking` or")),
        (
            {},
            {"objective": "left_to_right", "max_predictions_per_seq": 20},
            Message(None, "contain masks", "set `masking` or `objective`"),
        ),
        (
            {},
            {"objective": "full_sentences"},
            Message(None, "contain next sentence labels", "set `objective` to"),
        ),
        (
            {"objective": "segment_pairs"},
            {"objective": "sentence_order"},
            Message(None, "lack sentence order labels"),
        ),
        (
            PACKED,
            {"objective": "doc_sentences"},
            Message(None, "contain several sequences each", "set `pack_sequences`"),
        ),
        (
            {"objective": "doc_sentences"},
            PACKED,
            Message(None, "lack several sequences each", "set `pack_sequences`"),
        ),
        (
            {**PACKED, "objective": "sentence_order", "max_sequences_per_pack": 3},
            {**PACKED, "objective": "sentence_order", "max_sequences_per_pack": 2},
            Message(None, "3 numbers in sentence_order_positions"),
        ),
    ],
)
def test_records_of_another_kind(tmp_path, kind, wanted, message):
    kind, wanted = (
        InstanceSettings(**{"max_seq_length": S, "max_predictions_per_seq": P, **each})
        for each in (kind, wanted)
    )
    path = write_records(tmp_path / "a.tfrecord", kind.features, 1)
    with raises_message(message, file=path):
        record_checks.check_pretraining_records([path], wanted.features, {})


def test_more_sequences_than_a_pack_may_hold(tmp_path):
    settings = InstanceSettings(
        max_seq_length=S, max_predictions_per_seq=P, max_sequences_per_pack=2, **PACKED
    )
    path = write_records(
        tmp_path / "a.tfrecord", settings.features, 1, input_mask=np.full([1, S], 3)
    )
    bounds = record_checks.compute_bounds(BertConfig(99), settings)
    with rejects("a.tfrecord", "contains 3 in input_mask", "only 0 to 2"):
        record_checks.check_pretraining_records([path], settings.features, bounds)


@pytest.mark.parametrize("share", [{}, {"share": HostShare(1, 2)}], ids=["one host", "two hosts"])
def test_a_damaged_record_found_in_training_is_named_by_its_file(damaged, share):
    data = inputs.pretraining_training_data(damaged, FEATURES, 6, seed=1, **share)
    with (
        rejects("2.tfrecord", "is corrupted", "not a TFRecord"),
        record_checks.name_bad_file(damaged, FEATURES, {}),
    ):
        list(data.take(6))


def test_an_invalid_number_found_in_training_is_named_by_its_file(damaged):
    bounds = {"input_ids": 13}
    data = inputs.pretraining_training_data(damaged[:2], FEATURES, 5, seed=1, bounds=bounds)
    with (
        rejects("1.tfrecord", "a record contains 13 in input_ids"),
        record_checks.name_bad_file(damaged[:2], FEATURES, bounds),
    ):
        list(data.take(4))
    with (
        pytest.raises(tf.errors.InvalidArgumentError, match="mine"),
        record_checks.name_bad_file(damaged[:2], FEATURES, {}),
    ):
        tf.debugging.Assert(False, ["mine"])


def test_records_are_counted(files, tmp_path):
    assert record_checks.count_records(tuple(files)) == 30
    with open(files[0], "rb") as file:
        (tmp_path / "short.tfrecord").write_bytes(file.read()[:-3])
    paths = (str(tmp_path / "short.tfrecord"),)
    with (
        rejects("short.tfrecord", "is corrupted", "not a TFRecord file"),
        record_checks.name_bad_file(paths, FEATURES, {}),
    ):
        record_checks.count_records(paths)
