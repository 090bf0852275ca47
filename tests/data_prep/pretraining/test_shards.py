"""Records created on this machine match the original BERT, for any number of shards."""

import dataclasses
import json
import os
import pathlib
import shutil

import numpy as np
import pytest

from bert_tf.errors import InputError
from data_prep.pretraining import InstanceSettings, JobSettings, job, shards
from tests.data_prep.pretraining import pretraining_records
from tests.data_prep.pretraining.pretraining_records import (
    CORPUS_FILE,
    RUNS,
    VOCAB_FILE,
    contents,
    digest,
    read_records,
)
from tests.errors import Message, check_message, raises_message

SETTINGS = InstanceSettings(max_seq_length=40, max_predictions_per_seq=5, dupe_factor=2)
NUM_SHARDS = 4


def create(folder, **changes):
    """Creates records of the reference corpus; returns their Counts and the created shards."""
    return job.run(make_settings(folder, **changes))


def make_settings(folder, **changes):
    return JobSettings(
        **{
            "input_file": CORPUS_FILE,
            "output_file": f"{folder}/a.tfrecord",
            "vocab_file": VOCAB_FILE,
            "instances": SETTINGS,
            "random_seed": 5,
            "num_workers": 1,
            **changes,
        }
    )


@pytest.fixture(scope="module")
def shards_and_counts(tmp_path_factory):
    """A directory of NUM_SHARDS shards, read-only, and their Counts."""
    folder = tmp_path_factory.mktemp("shards")
    return folder, create(folder, num_output_shards=NUM_SHARDS)[0]


@pytest.fixture
def copied_shards(shards_and_counts, tmp_path):
    """A copy of the directory of shards."""
    return pathlib.Path(shutil.copytree(shards_and_counts[0], tmp_path / "copy"))


@pytest.mark.parametrize("name", sorted(RUNS))
def test_records_match_the_original_bert(tmp_path, name):
    run = RUNS[name]
    settings = InstanceSettings(
        **{field.name: run[field.name] for field, _ in SETTINGS.fields() if field.name in run}
    )
    counts, _ = create(tmp_path, instances=settings, random_seed=run["random_seed"])
    found = read_records(tmp_path / "a.tfrecord")
    with np.load(pretraining_records.REFERENCE / f"pretraining_{name}.npz") as expected:
        for feature in expected:
            np.testing.assert_array_equal(
                [record[feature] for record in found[:200]], expected[feature]
            )
    assert counts.num_records == len(found) == run["num_records"]
    assert digest(found) == run["sha256"]


def test_records_go_to_several_files_in_turn(tmp_path, monkeypatch):
    # Not a multiple of three: each batch must begin with the first file.
    monkeypatch.setattr(shards, "BATCH", 16)
    paths = [str(tmp_path / "new" / f"{number}.tfrecord") for number in range(3)]
    create(tmp_path)
    create(tmp_path, output_file=",".join(paths))
    expected = read_records(tmp_path / "a.tfrecord")
    assert [digest(read_records(path)) for path in paths] == [
        digest(expected[number::3]) for number in range(3)
    ]


def test_counts(tmp_path, capsys):
    counts, (shard,) = create(tmp_path)
    found = read_records(tmp_path / "a.tfrecord")
    printed = capsys.readouterr().err
    lengths = np.array([record["input_mask"].sum() for record in found])
    assert (counts.num_bytes, counts.num_documents) == (os.path.getsize(CORPUS_FILE), 20)
    assert shard.num_bytes == counts.num_bytes
    assert (counts.num_records, counts.num_ids, counts.num_real) == (
        len(found),
        40 * len(found),
        lengths.sum(),
    )
    assert counts.num_masked == sum(record["masked_lm_weights"].sum() for record in found)
    assert counts.num_random_next == sum(record["next_sentence_labels"].item() for record in found)
    # 15% of 37 to 40 IDs is 5.55 to 6: six predictions are required, and five fit.
    assert counts.num_predictions_cut == np.count_nonzero(lengths >= 37)
    assert f"{counts.num_predictions_cut:,} predictions were dropped" in printed
    assert "warning" not in printed


def test_counts_of_unknown_tokens_and_dynamic_masking(tmp_path, write, capsys):
    counts, _ = create(
        tmp_path,
        input_file=write("a.txt", "one two \U0001f9ff\n\nthree\n"),
        instances=InstanceSettings(masking="dynamic"),
    )
    assert (counts.num_unknown, counts.num_tokens) == (1, 4)
    assert counts.num_masked == counts.num_predictions_cut == 0
    printed = capsys.readouterr()
    assert "non-padding tokens, unmasked, " in printed.out
    check_message(printed.err, None, "warning", "25.0% of the tokens are [UNK]")


def test_each_run_reads_its_vocabulary(tmp_path, write):
    for number, words in enumerate(("one\n", "one\ntwo\n")):  # At one path, in one process.
        vocab_file = write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n" + words)
        counts, _ = create(
            tmp_path / str(number), input_file=write("a.txt", "one\n\ntwo\n"), vocab_file=vocab_file
        )
        assert counts.num_unknown == 1 - number


@pytest.mark.parametrize(
    ("text", "num_shards", "message"),
    [
        (
            b"one document\n",
            1,
            Message(None, "only one document in", "a.txt", "random next sentences require"),
        ),
        (
            b"\n \n",
            1,
            Message(None, "no sentence in", "a.txt", "one sentence per line"),
        ),
        (b"", 2, Message(None, "no sentence in", "a.txt", "one sentence per line")),
        (b"\n", 2, Message(None, "1 bytes of text", "into 2 shards")),
        (
            b"one\n\ntwo\n\nthree",
            2,
            Message(
                None,
                "shard 2 of 2",
                "byte 10",
                "a.txt, would contain one document",
                "decrease `num",
            ),
        ),
    ],
)
def test_too_little_text_leaves_no_partial_file(tmp_path, write, text, num_shards, message):
    with raises_message(message):
        create(tmp_path, input_file=write("a.txt", text), num_output_shards=num_shards)
    assert not list(tmp_path.glob("*.partial"))


def test_without_a_finished_shard_there_is_no_other_run(tmp_path, write):
    with pytest.raises(InputError, match="only one document"):
        create(tmp_path, input_file=write("a.txt", "one document\n"))
    create(tmp_path, input_file=write("b.txt", "one\n\ntwo\n\n"))


def test_an_interrupted_run_leaves_no_partial_file(tmp_path, monkeypatch):
    def stop(shard, *_):
        pathlib.Path(f"{shard.files[0]}.partial").write_text("file of a worker that was killed")
        raise KeyboardInterrupt

    monkeypatch.setattr(shards, "create_shard", stop)
    with pytest.raises(KeyboardInterrupt):
        create(tmp_path, num_output_shards=2)
    assert os.listdir(tmp_path) == []


def test_small_texts_start_no_process(tmp_path, shards_and_counts, monkeypatch):
    monkeypatch.delattr(job, "map_in_processes")
    create(tmp_path, num_output_shards=NUM_SHARDS, num_workers=None)
    assert contents(tmp_path) == contents(shards_and_counts[0])


def test_a_large_text_gets_more_shards(tmp_path, capsys):
    assert len(create(tmp_path, max_shard_mb=0.03)[1]) == 2
    assert capsys.readouterr().out.startswith(
        "`max_shard_mb`: splitting 0.1 MB of text into 2 shards, beginning with "
    )


def test_a_finished_output_is_unchanged(copied_shards, shards_and_counts, capsys):
    times = {path: path.stat().st_mtime_ns for path in copied_shards.iterdir()}
    assert create(copied_shards, num_output_shards=NUM_SHARDS, verify=True) == (
        shards_and_counts[1],
        [],
    )
    assert capsys.readouterr().out.startswith(
        f"{copied_shards}/a.tfrecord: is complete; to create it again, delete its files\nread "
    )
    assert {path: path.stat().st_mtime_ns for path in copied_shards.iterdir()} == times


def test_only_missing_shards_are_created(copied_shards, shards_and_counts, capsys):
    unchanged, truncated, deleted, damaged = (
        copied_shards / f"a-{number:05}-of-{NUM_SHARDS:05}.tfrecord" for number in range(NUM_SHARDS)
    )
    truncated.write_bytes(b"truncated")
    deleted.unlink()
    pathlib.Path(f"{damaged}.shard.json").write_text("{}")
    time = unchanged.stat().st_mtime_ns
    counts, created = create(copied_shards, num_output_shards=NUM_SHARDS)
    assert contents(copied_shards) == contents(shards_and_counts[0])
    assert unchanged.stat().st_mtime_ns == time
    assert (counts, len(created)) == (shards_and_counts[1], 3)
    assert capsys.readouterr().out.startswith(
        f"{copied_shards}/a.tfrecord: resuming; 1 of 4 shards are finished, 3 are missing\n"
    )


def test_bytes_that_changed_are_found_with_verify(copied_shards, shards_and_counts):
    path = copied_shards / "a-00001-of-00004.tfrecord"
    content = bytearray(path.read_bytes())
    content[999] ^= 1
    path.write_bytes(content)
    assert create(copied_shards, num_output_shards=NUM_SHARDS)[1] == []
    assert len(create(copied_shards, num_output_shards=NUM_SHARDS, verify=True)[1]) == 1
    assert contents(copied_shards) == contents(shards_and_counts[0])


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.update(run="other"),
        lambda content: content["files"].clear(),
        lambda content: content["counts"].update(more=3),
    ],
)
def test_a_shard_of_another_run_or_with_a_damaged_description(copied_shards, change):
    path = copied_shards / "a-00002-of-00004.tfrecord.shard.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    assert len(create(copied_shards, num_output_shards=NUM_SHARDS)[1]) == 1


@pytest.mark.parametrize(
    "change_and_message",
    [
        ({"random_seed": 6}, "`random_seed` 5, not 6; choose another `output_file` for a new run"),
        (
            {"input_file": f"text.txt,{CORPUS_FILE}"},
            r"`input_file` of 51902 bytes \(1 files, \w+\), not of 52002 bytes \(2 files, \w+\)",
        ),
        (
            {"vocab_file": "vocab.txt"},
            r"`vocab_file` of 113802 bytes \(1 files, \w+\), not of 113811 bytes",
        ),
    ],
)
def test_an_output_from_other_inputs_or_settings(
    tmp_path, copied_shards, shards_and_counts, write, monkeypatch, change_and_message
):
    changes, message = change_and_message
    monkeypatch.chdir(tmp_path)
    write("text.txt", "one\n\ntwo\n\n" * 10)
    write("vocab.txt", pathlib.Path(VOCAB_FILE).read_bytes() + b"one_more\n")
    with pytest.raises(
        InputError,
        match=f"^`output_file`={copied_shards}/a.tfrecord: contains a run with {message}",
    ):
        create(copied_shards, **{"num_output_shards": NUM_SHARDS, **changes})
    assert contents(copied_shards) == contents(shards_and_counts[0])


@pytest.mark.parametrize("objective", ["sentence_order", "full_sentences", "doc_sentences"])
def test_one_document_is_enough_without_random_parts(tmp_path, write, objective):
    text = write(
        "text.txt", "the debugger stops here\nthe line is the first of it\nhere is another line\n"
    )
    counts, _ = create(
        tmp_path, input_file=text, instances=InstanceSettings(objective=objective, dupe_factor=2)
    )
    assert (counts.num_documents, counts.num_records) == (1, 2)


def test_a_note_about_documents_of_one_sentence():
    """Only for objectives with a label for pairs."""
    counts = shards.Counts(1, 3, 3, 9, num_sequences=3, num_records=3, num_real=9, num_ids=9)
    note = "note: each document has one sentence, so the pairs of sentences cannot be learned"
    has_note = [
        any(
            line.startswith(note) for line in each.find_notes(InstanceSettings(objective=objective))
        )
        for each in (counts, dataclasses.replace(counts, num_sentences=4))
        for objective in ("sentence_pairs", "sentence_order", "segment_pairs")
    ]
    assert has_note == [True, True, False, False, False, False]
