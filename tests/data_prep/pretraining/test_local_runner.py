"""Records on this machine: the original's, whatever the shards and workers, and runs that resume."""

import json
import os
import pathlib
import shutil

import numpy as np
import pytest

from bert_tf.tokenization import BertTokenizer
from data_prep.pretraining import InstanceSettings, local_runner, shard_plan, shards
from data_prep.pretraining import corpus as corpus_lib
from data_prep.pretraining.instances import masking
from tests.data_prep.pretraining.pretraining_records import (
    CORPUS_FILE,
    REFERENCE,
    RUNS,
    VOCAB_FILE,
    contents,
    digest,
    read_records,
    settings_of,
)

SETTINGS = InstanceSettings(max_seq_length=40, max_predictions_per_seq=5, dupe_factor=2)
NUM_SHARDS = 4


@pytest.fixture(scope="module")
def tokenizer():
    return BertTokenizer(VOCAB_FILE, lower_case=True)


def create(folder, tokenizer, **changes):
    """Makes records of the reference corpus into `folder`; returns the Summary and the lines announced."""
    lines = []
    arguments = {"input_files": [CORPUS_FILE], "output_files": [f"{folder}/a.tfrecord"], "tokenizer": tokenizer,
                 "settings": SETTINGS, "seed": 5, "announce": lines.append, **changes}
    return local_runner.create_pretraining_data(**arguments), lines


@pytest.fixture(scope="module")
def in_shards(tmp_path_factory, tokenizer):
    """A folder of NUM_SHARDS shards, made in this process, and its Summary."""
    folder = tmp_path_factory.mktemp("in_shards")
    summary, lines = create(folder, tokenizer, num_output_shards=NUM_SHARDS, num_workers=1)
    assert lines == []
    return folder, summary


@pytest.mark.parametrize("name", sorted(RUNS))
def test_records_are_the_originals(tmp_path, tokenizer, name):
    run = RUNS[name]

    summary, _ = create(tmp_path, tokenizer, settings=settings_of(run), seed=run["random_seed"])

    found = read_records(tmp_path / "a.tfrecord")
    with np.load(REFERENCE / f"pretraining_{name}.npz") as expected:
        for feature in expected:
            np.testing.assert_array_equal([record[feature] for record in found[:200]], expected[feature])
    assert summary.counts.num_records == len(found) == run["num_records"]
    assert digest(found) == run["sha256"]


def test_several_files_take_turns(tmp_path, tokenizer, monkeypatch):
    monkeypatch.setattr(shards, "BATCH", 10)
    three = [str(tmp_path / "new" / f"{i}.tfrecord") for i in range(3)]
    create(tmp_path, tokenizer)
    create(tmp_path, tokenizer, output_files=three)

    whole, parts = read_records(tmp_path / "a.tfrecord"), [read_records(path) for path in three]

    assert len(parts[0]) == -(-len(whole) // 3)
    assert [digest(part) for part in parts] == [digest(whole[i::3]) for i in range(3)]


def test_summary(tmp_path, tokenizer):
    summary, _ = create(tmp_path, tokenizer)

    found, counts = read_records(tmp_path / "a.tfrecord"), summary.counts
    lengths = np.array([record["input_mask"].sum() for record in found])
    assert (counts.num_bytes, counts.num_documents) == (os.path.getsize(CORPUS_FILE), 20)
    assert summary.num_bytes_made == counts.num_bytes
    assert (summary.num_shards, summary.num_made) == (1, 1)
    assert counts.num_records == len(found)
    assert (counts.num_ids, counts.num_real) == (40 * len(found), lengths.sum())
    assert counts.num_masked == sum(record["masked_lm_weights"].sum() for record in found)
    assert counts.num_random_next == sum(record["next_sentence_labels"].item() for record in found)
    # 0.15 of 37 to 40 ids is 5.55 to 6, so 6 are wanted and 5 given.
    assert counts.num_predictions_cut == np.count_nonzero(lengths >= 37)
    assert (f"`max_predictions_per_seq` is too small for `masked_lm_prob`: {counts.num_predictions_cut:,} predictions "
            f"were cut") in str(summary)
    assert str(summary).splitlines()[2].startswith("took ")
    assert "warning" not in str(summary)


def test_summary_warns_of_unknown_tokens(tmp_path, tokenizer):
    text = tmp_path / "a.txt"
    text.write_text("one two \U0001F9FF\n\nthree\n")

    summary, _ = create(tmp_path, tokenizer, input_files=[str(text)], settings=InstanceSettings())

    assert (summary.counts.num_unknown, summary.counts.num_tokens) == (1, 4)
    assert summary.counts.num_predictions_cut == 0
    assert "warning: 25.0% of the tokens are [UNK]" in str(summary)


@pytest.mark.parametrize(("text", "num_shards", "message"), [
    (b"one document\n", 1, r"the text is one document, in .*a.txt: at least two documents"),
    (b"\n \n", 1, r"no sentence in .*a.txt: an input file holds one sentence a line"),
    (b"", 1, r"no sentence in .*a.txt"),
    (b"", 2, r"no sentence in .*a.txt: an input file holds one sentence a line"),
    (b"\n", 2, r"the text, 1 bytes, cannot be cut into 2 shards"),
    (b"one\n\ntwo\n\nthree", 2, r"shard 2 of 2, from byte 10 of .*a.txt, would be of one document: .*lower `num"),
    (b"one\n\xe9\n", 1, r"the text is one document, in .*a.txt"),
])
def test_bad_text_leaves_no_file(tmp_path, tokenizer, text, num_shards, message):
    (tmp_path / "a.txt").write_bytes(text)

    with pytest.raises(ValueError, match=message):
        create(tmp_path, tokenizer, input_files=[str(tmp_path / "a.txt")], num_output_shards=num_shards, num_workers=1)

    if num_shards == 1:
        assert os.listdir(tmp_path) == ["a.txt"]
    assert not list(tmp_path.glob("*.partial"))


def test_shards_are_each_made_of_a_part_of_the_text(in_shards, tokenizer):
    folder, summary = in_shards
    names = [f"a-{i:05}-of-{NUM_SHARDS:05}.tfrecord" for i in range(NUM_SHARDS)]
    units = shard_plan.plan_units([CORPUS_FILE], NUM_SHARDS)
    total = shards.Counts()
    for i, (name, unit) in enumerate(zip(names, units, strict=True)):
        with shard_plan.TextReader() as reader:
            corpus = corpus_lib.tokenize(reader.read(unit), tokenizer)
        task = shards.ShardTask(i, corpus, (str(folder / "again"),), SETTINGS,
                                masking.Vocabulary.of_tokenizer(tokenizer), tokenizer.unk_id, f"5, shard {i}")
        total += shards.make_shard(task).counts
        assert (folder / "again").read_bytes() == (folder / name).read_bytes()
    (folder / "again").unlink()

    assert sorted(contents(folder)) == names
    assert total == summary.counts
    assert (summary.counts.num_bytes, summary.counts.num_documents) == (os.path.getsize(CORPUS_FILE), 20)
    manifest = json.loads((folder / "a.tfrecord.manifest.json").read_text())
    assert {file["file"]: file["sha256"] for shard in manifest["shards"] for file in shard["files"]} == contents(folder)


@pytest.mark.parametrize("num_workers", [2, 3])
def test_records_do_not_depend_on_the_number_of_workers(tmp_path, in_shards, tokenizer, num_workers):
    summary, _ = create(tmp_path, tokenizer, num_output_shards=NUM_SHARDS, num_workers=num_workers)

    assert contents(tmp_path) == contents(in_shards[0])
    assert summary.counts == in_shards[1].counts


def test_a_small_text_starts_no_process(tmp_path, in_shards, tokenizer, monkeypatch):
    monkeypatch.delattr(local_runner.processes, "map_in_processes")
    create(tmp_path, tokenizer, num_output_shards=NUM_SHARDS)
    assert contents(tmp_path) == contents(in_shards[0])

    monkeypatch.setattr(local_runner, "BYTES_PER_WORKER", 1)
    monkeypatch.setattr(local_runner.os, "sched_getaffinity", lambda process: {0, 1})
    with pytest.raises(AttributeError, match="map_in_processes"):
        create(tmp_path / "new", tokenizer, num_output_shards=NUM_SHARDS)


def test_a_limit_makes_more_shards(tmp_path, tokenizer):
    limit = os.path.getsize(CORPUS_FILE) // 3 + 1

    summary, lines = create(tmp_path, tokenizer, max_shard_bytes=limit, num_workers=1)

    assert summary.num_shards == 3
    assert lines == [f"`max_shard_mb`: the {os.path.getsize(CORPUS_FILE) / 1e6:.1f} MB of text are made into 3 shards, "
                     f"from {tmp_path}/a-00000-of-00003.tfrecord on"]


def test_a_finished_output_is_left_alone(tmp_path, in_shards, tokenizer):
    folder = pathlib.Path(shutil.copytree(in_shards[0], tmp_path / "copy"))
    times = {path: path.stat().st_mtime_ns for path in folder.iterdir()}

    summary, lines = create(folder, tokenizer, num_output_shards=NUM_SHARDS)

    assert summary.counts == in_shards[1].counts
    assert (summary.num_made, summary.num_bytes_made) == (0, 0)
    assert str(summary).splitlines() == in_shards[1].counts.lines(in_shards[1].settings)
    assert lines == [f"{folder}/a.tfrecord: is finished already; to make it again, remove "
                     f"{folder}/a.tfrecord.manifest.json"]
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == times


def test_what_is_missing_is_made(tmp_path, in_shards, tokenizer):
    folder = pathlib.Path(shutil.copytree(in_shards[0], tmp_path / "copy"))
    (folder / "a-00001-of-00004.tfrecord").write_bytes(b"cut off")
    (folder / "a-00002-of-00004.tfrecord").unlink()
    changed = bytearray((folder / "a-00003-of-00004.tfrecord").read_bytes())
    changed[len(changed) // 2] ^= 1
    (folder / "a-00003-of-00004.tfrecord").write_bytes(changed)
    untouched = folder / "a-00000-of-00004.tfrecord"
    time = untouched.stat().st_mtime_ns

    summary, lines = create(folder, tokenizer, num_output_shards=NUM_SHARDS)

    assert contents(folder) == contents(in_shards[0])
    assert untouched.stat().st_mtime_ns == time
    assert summary.counts == in_shards[1].counts
    assert summary.num_made == 3
    assert " s for 3 of 4 shards, " in str(summary)
    assert lines == ["2 of 4 shards were finished, but their files are gone or have another size: they are made again",
                     "1 of 4 shards were finished, but their files have been changed: they are made again",
                     "1 of 4 shards are finished already, 3 are missing"]


@pytest.mark.parametrize(("changes", "message"), [
    ({"seed": 6}, "`random_seed` was 5, now 6: give another `output_file`"),
    ({"settings": InstanceSettings(max_seq_length=41, max_predictions_per_seq=5, dupe_factor=3)},
     "`max_seq_length` was 40, now 41; `dupe_factor` was 2, now 3"),
    ({"num_output_shards": 3}, "`num_output_shards` was 4, now 3"),
    ({"input_files": ["TEXT", CORPUS_FILE]}, "input .*/text.txt is new"),
    ({"input_files": ["TEXT"]}, "input .*/corpus.txt is left out, and 1 more differ"),
])
def test_another_output_is_not_mixed_with_this_one(tmp_path, in_shards, tokenizer, changes, message):
    folder = shutil.copytree(in_shards[0], tmp_path / "copy")
    (tmp_path / "text.txt").write_text("one\n\ntwo\n\n" * 10)
    if "input_files" in changes:
        files = {"TEXT": str(tmp_path / "text.txt")}
        changes = {"input_files": [files.get(path, path) for path in changes["input_files"]]}

    with pytest.raises(ValueError, match=f"manifest.json: this output was made from something else: {message}"):
        create(folder, tokenizer, **{"num_output_shards": NUM_SHARDS, **changes})

    assert contents(folder) == contents(in_shards[0])


def test_changed_inputs_and_vocabularies_are_noticed(tmp_path, in_shards, tokenizer):
    text, vocab_file = tmp_path / "text.txt", tmp_path / "vocab.txt"
    text.write_text("one\n\ntwo\n\n" * 10)
    create(tmp_path, tokenizer, input_files=[str(text)])
    text.write_text("one\n\ntwo\n\n" * 11)
    vocab_file.write_bytes(pathlib.Path(VOCAB_FILE).read_bytes() + b"one_more\n")

    with pytest.raises(ValueError, match=r"vocabulary of `vocab_file` is another one; input .*text.txt was changed"):
        create(tmp_path, BertTokenizer(str(vocab_file)), input_files=[str(text)])


@pytest.mark.parametrize("content", ["[", "{}", "[]", '{"format": 1}', "[" * 100_000, '{"format": 1, "made_from": '
                                     '{"flags": {}, "vocabulary": "", "inputs": []}, "shards": [{}]}'])
def test_a_file_that_is_no_manifest(tmp_path, tokenizer, content):
    (tmp_path / "a.tfrecord.manifest.json").write_text(content)

    with pytest.raises(ValueError, match=r"a.tfrecord.manifest.json: (is (no manifest|not JSON)|its JSON is nested)"):
        create(tmp_path, tokenizer)


def test_an_error_of_a_worker_ends_the_run(tmp_path, tokenizer):
    (tmp_path / "a-00002-of-00004.tfrecord.partial").mkdir(parents=True)

    with pytest.raises(OSError, match=r"a-00002-of-00004.tfrecord: cannot be written: Is a directory"):
        create(tmp_path, tokenizer, num_output_shards=NUM_SHARDS, num_workers=2)


@pytest.mark.parametrize("seed", [-5, -(1 << 70)])
def test_a_negative_seed_is_taken_as_python_takes_it(tmp_path, tokenizer, seed):
    """random.Random seeds itself with the absolute value of an int, and with each str differently."""
    def made(name, seed, num_shards):
        create(tmp_path / name, tokenizer, seed=seed, num_output_shards=num_shards, num_workers=1)
        return list(contents(tmp_path / name).values())

    assert made("negative", seed, 1) == made("positive", -seed, 1)
    for negative, positive in zip(made("negatives", seed, 2), made("positives", -seed, 2), strict=True):
        assert negative != positive


def test_dynamic_masking_writes_pairs_only(tmp_path, tokenizer):
    summary, _ = create(tmp_path, tokenizer, num_output_shards=2, num_workers=1, settings=InstanceSettings(
        max_seq_length=40, dupe_factor=1, masking="dynamic"))

    found = [record for i in range(2) for record in read_records(tmp_path / f"a-0000{i}-of-00002.tfrecord")]
    assert {name: len(values) for name, values in found[0].items()} == {
        "input_ids": 40, "input_mask": 40, "segment_ids": 40, "next_sentence_labels": 1}
    assert all(tokenizer.mask_id not in record["input_ids"] for record in found)
    assert summary.counts.num_masked == summary.counts.num_predictions_cut == 0
    assert "are real, unmasked, " in str(summary)


@pytest.mark.parametrize("objective", ["sentence_order", "full_sentences", "doc_sentences"])
def test_one_document_is_enough_where_no_part_is_of_another(tmp_path, tokenizer, objective):
    text = tmp_path / "text.txt"
    text.write_text("the debugger stops here\nthe line is the first of it\nhere is another line\n")
    settings = InstanceSettings(max_seq_length=40, max_predictions_per_seq=5, dupe_factor=2, objective=objective)
    summary, _ = create(tmp_path, tokenizer, input_files=[str(text)], settings=settings)
    assert (summary.counts.num_documents, summary.counts.num_records) == (1, 2)
    with pytest.raises(ValueError, match=r"the text is one document, in .*: at least two"):
        create(tmp_path, tokenizer, input_files=[str(text)], settings=InstanceSettings(objective="segment_pairs"),
               output_files=[str(tmp_path / "b.tfrecord")])
