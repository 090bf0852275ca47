"""Records created on this machine: they match the original BERT, for any number of shards, and runs resume."""

import dataclasses
import functools
import json
import os
import pathlib
import shutil

import numpy as np
import pytest

from bert_tf.errors import InputError
from bert_tf.tokenization import BertTokenizer
from data_prep.pretraining import InstanceSettings, shards
from data_prep.pretraining import corpus as corpus_lib
from data_prep.pretraining.instances import masking
from data_prep.pretraining.plan import create_pretraining_data
from data_prep.sharding import local_runner, text_units
from tests.data_prep.pretraining import pretraining_records
from tests.data_prep.pretraining.pretraining_records import CORPUS_FILE, RUNS, contents, digest, read_records

SETTINGS = InstanceSettings(max_seq_length=40, max_predictions_per_seq=5, dupe_factor=2)
NUM_SHARDS = 4


@pytest.fixture(scope="module")
def create(reference_tokenizer):
    """Function that creates records of the reference corpus, and returns the Summary and the announced lines."""
    def create(folder, num_workers=1, **changes):
        lines = []
        arguments = {"input_files": [CORPUS_FILE], "output_files": [f"{folder}/a.tfrecord"],
                     "tokenizer": reference_tokenizer, "settings": SETTINGS, "seed": 5, "announce": lines.append,
                     "create_shards": functools.partial(local_runner.create_shards, num_workers=num_workers), **changes}
        return create_pretraining_data(**arguments), lines
    return create


@pytest.fixture(scope="module")
def shards_and_summary(tmp_path_factory, create):
    """A directory of NUM_SHARDS shards, read-only, and their Summary."""
    folder = tmp_path_factory.mktemp("shards")
    summary, lines = create(folder, num_output_shards=NUM_SHARDS)
    assert lines == []
    return folder, summary


@pytest.fixture
def copied_shards(shards_and_summary, tmp_path):
    """A copy of the directory of shards."""
    return pathlib.Path(shutil.copytree(shards_and_summary[0], tmp_path / "copy"))


@pytest.mark.parametrize("name", sorted(RUNS))
def test_records_match_the_original_bert(tmp_path, create, name):
    run = RUNS[name]
    settings = InstanceSettings(**{field.name: run[field.name] for field, _ in SETTINGS.fields() if field.name in run})
    summary, _ = create(tmp_path, settings=settings, seed=run["random_seed"])
    found = read_records(tmp_path / "a.tfrecord")
    with np.load(pretraining_records.REFERENCE / f"pretraining_{name}.npz") as expected:
        for feature in expected:
            np.testing.assert_array_equal([record[feature] for record in found[:200]], expected[feature])
    assert summary.counts.num_records == len(found) == run["num_records"]
    assert digest(found) == run["sha256"]


def test_records_go_to_several_files_in_turn(tmp_path, create, monkeypatch):
    monkeypatch.setattr(shards, "BATCH", 10)
    paths = [str(tmp_path / "new" / f"{number}.tfrecord") for number in range(3)]
    create(tmp_path)
    create(tmp_path, output_files=paths)
    expected = read_records(tmp_path / "a.tfrecord")
    assert [digest(read_records(path)) for path in paths] == [digest(expected[number::3]) for number in range(3)]


def test_summary(tmp_path, create):
    summary, _ = create(tmp_path)
    found, counts = read_records(tmp_path / "a.tfrecord"), summary.counts
    lengths = np.array([record["input_mask"].sum() for record in found])
    assert (counts.num_bytes, counts.num_documents) == (os.path.getsize(CORPUS_FILE), 20)
    assert summary.num_bytes_made == counts.num_bytes
    assert (summary.num_shards, summary.num_made) == (1, 1)
    assert (counts.num_records, counts.num_ids, counts.num_real) == (len(found), 40 * len(found), lengths.sum())
    assert counts.num_masked == sum(record["masked_lm_weights"].sum() for record in found)
    assert counts.num_random_next == sum(record["next_sentence_labels"].item() for record in found)
    # 15% of 37 to 40 IDs is 5.55 to 6: six predictions are required, and five fit.
    assert counts.num_predictions_cut == np.count_nonzero(lengths >= 37)
    assert f"{counts.num_predictions_cut:,} predictions were dropped" in str(summary)
    assert "warning" not in str(summary)


def test_summary_of_unknown_tokens_and_dynamic_masking(tmp_path, create, write):
    summary, _ = create(tmp_path, input_files=[write("a.txt", "one two \U0001F9FF\n\nthree\n")],
                        settings=InstanceSettings(masking="dynamic"))
    assert (summary.counts.num_unknown, summary.counts.num_tokens) == (1, 4)
    assert summary.counts.num_masked == summary.counts.num_predictions_cut == 0
    assert "non-padding tokens, unmasked, " in str(summary)
    assert "warning: 25.0% of the tokens are [UNK]" in str(summary)


@pytest.mark.parametrize(("text", "num_shards", "message"), [
    (b"one document\n", 1, r"only one document in .*a.txt; random next sentences require"),
    (b"\n \n", 1, r"no sentence in .*a.txt; input files must have one sentence per line"),
    (b"", 2, r"no sentence in .*a.txt; input files must have one sentence per line"),
    (b"\n", 2, r"1 bytes of text cannot be split into 2 shards"),
    (b"one\n\ntwo\n\nthree", 2, r"shard 2 of 2, from byte 10 of .*a.txt, would contain one document; .*decrease `num"),
])
def test_too_little_text_leaves_no_partial_file(tmp_path, create, write, text, num_shards, message):
    with pytest.raises(InputError, match=message):
        create(tmp_path, input_files=[write("a.txt", text)], num_output_shards=num_shards)
    assert num_shards > 1 or os.listdir(tmp_path) == ["a.txt"]
    assert not list(tmp_path.glob("*.partial"))


def test_an_interrupted_run_leaves_no_partial_file(tmp_path, create, monkeypatch):
    def stop(task):
        pathlib.Path(f"{task.output_files[0]}.partial").write_text("file of a worker that was killed")
        raise KeyboardInterrupt

    monkeypatch.setattr(shards, "create_shard", stop)
    with pytest.raises(KeyboardInterrupt):
        create(tmp_path, num_output_shards=2)
    assert os.listdir(tmp_path) == []


def test_each_shard_is_created_from_a_part_of_the_text(tmp_path, shards_and_summary, reference_tokenizer):
    folder, summary = shards_and_summary
    vocabulary, total = masking.Vocabulary.from_tokenizer(reference_tokenizer), shards.Counts()
    for number, unit in enumerate(text_units.plan_units([CORPUS_FILE], NUM_SHARDS)):
        with text_units.TextReader() as reader:
            corpus = corpus_lib.tokenize(reader.read(unit), reference_tokenizer)
        path = tmp_path / f"a-{number:05}-of-{NUM_SHARDS:05}.tfrecord"
        task = shards.ShardTask(number, corpus, (str(path),), SETTINGS, vocabulary, reference_tokenizer.unk_id,
                                f"5, shard {number}")
        total += shards.create_shard(task).counts
    assert contents(tmp_path) == contents(folder)
    assert total == summary.counts
    manifest = json.loads((folder / "a.tfrecord.manifest.json").read_text())
    assert {file["file"]: file["sha256"] for shard in manifest["shards"] for file in shard["files"]} == contents(folder)


def test_small_texts_start_no_process(tmp_path, shards_and_summary, create, monkeypatch):
    monkeypatch.delattr(local_runner.processes, "map_in_processes")
    create(tmp_path, num_output_shards=NUM_SHARDS, num_workers=None)
    assert contents(tmp_path) == contents(shards_and_summary[0])

    monkeypatch.setattr(local_runner, "BYTES_PER_WORKER", 1)
    monkeypatch.setattr(local_runner.processor, "count_cores", lambda: 2)
    with pytest.raises(AttributeError, match="map_in_processes"):
        create(tmp_path / "new", num_output_shards=NUM_SHARDS, num_workers=None)


def test_the_maximum_size_increases_the_number_of_shards(tmp_path, create):
    summary, lines = create(tmp_path, max_shard_bytes=os.path.getsize(CORPUS_FILE) // 3 + 1)
    assert summary.num_shards == 3
    assert "into 3 shards, beginning with" in lines[0]


def test_a_finished_output_is_unchanged(copied_shards, shards_and_summary, create):
    times = {path: path.stat().st_mtime_ns for path in copied_shards.iterdir()}
    summary, lines = create(copied_shards, num_output_shards=NUM_SHARDS)
    assert summary.counts == shards_and_summary[1].counts
    assert (summary.num_made, summary.num_bytes_made) == (0, 0)
    assert lines == [f"{copied_shards}/a.tfrecord: is complete; to regenerate it, delete "
                     f"{copied_shards}/a.tfrecord.manifest.json"]
    assert {path: path.stat().st_mtime_ns for path in copied_shards.iterdir()} == times


def test_only_missing_shards_are_created(copied_shards, shards_and_summary, create):
    unchanged, truncated, deleted, changed = (
        copied_shards / f"a-{number:05}-of-{NUM_SHARDS:05}.tfrecord" for number in range(NUM_SHARDS))
    truncated.write_bytes(b"truncated")
    deleted.unlink()
    content = bytearray(changed.read_bytes())
    content[len(content) // 2] ^= 1
    changed.write_bytes(content)
    time = unchanged.stat().st_mtime_ns
    summary, lines = create(copied_shards, num_output_shards=NUM_SHARDS)
    assert contents(copied_shards) == contents(shards_and_summary[0])
    assert unchanged.stat().st_mtime_ns == time
    assert summary.counts == shards_and_summary[1].counts
    assert summary.num_made == 3
    assert lines == [
        "regenerating 2 of 4 shards, which were finished, but whose files are missing or have another size",
        "regenerating 1 of 4 shards, which were finished, but whose files were changed",
        f"{copied_shards}/a.tfrecord: resuming; 1 of 4 shards are finished, 3 are missing"]


@pytest.mark.parametrize(("changes", "message"), [
    ({"seed": 6}, "`random_seed` was 5, now 6; choose another `output_file`"),
    ({"settings": InstanceSettings(max_seq_length=41, max_predictions_per_seq=5, dupe_factor=3)},
     "`max_seq_length` was 40, now 41; `dupe_factor` was 2, now 3"),
    ({"num_output_shards": 3}, "`num_output_shards` was 4, now 3"),
    ({"settings": dataclasses.replace(SETTINGS, objective="segment_pairs")},
     "`objective` was sentence_pairs, now segment_pairs"),
    ({"settings": dataclasses.replace(SETTINGS, mask_fraction=0.7, random_fraction=0.2)},
     r"`mask_fraction` was 0\.8, now 0\.7; `random_fraction` was 0\.1, now 0\.2"),
    ({"input_files": ["text.txt", CORPUS_FILE]}, "input .*/text.txt is new"),
    ({"input_files": ["text.txt"]}, "input .*/corpus.txt was removed, and 1 more differ"),
])
def test_an_output_from_other_inputs_or_settings(tmp_path, copied_shards, shards_and_summary, create, write,
                                                 monkeypatch, changes, message):
    monkeypatch.chdir(tmp_path)
    write("text.txt", "one\n\ntwo\n\n" * 10)
    with pytest.raises(InputError, match=f"manifest.json: does not match this run: {message}"):
        create(copied_shards, **{"num_output_shards": NUM_SHARDS, **changes})
    assert contents(copied_shards) == contents(shards_and_summary[0])


def test_an_output_from_a_changed_input_or_vocabulary(tmp_path, create, write):
    text, other = (write(name, "one\n\ntwo\n\n" * 10) for name in ("text.txt", "other.txt"))
    create(tmp_path, input_files=[text, other])
    with pytest.raises(InputError, match="the inputs are in another order"):
        create(tmp_path, input_files=[other, text])
    tokenizer = BertTokenizer(
        write("vocab.txt", pathlib.Path(pretraining_records.VOCAB_FILE).read_bytes() + b"one_more\n"))
    os.utime(text, (1, 1))  # it has the same size, but another time
    with pytest.raises(InputError, match=r"`vocab_file` contains another vocabulary; input .*text.txt was changed"):
        create(tmp_path, tokenizer=tokenizer, input_files=[text, other])


@pytest.mark.parametrize(("num_shards", "is_equal"), [(1, True), (2, False)])
def test_negative_seeds(tmp_path, create, num_shards, is_equal):
    """random.Random uses the absolute value of an int, which seeds a single shard, but the characters of a str."""
    for seed in (-5, 5):
        create(tmp_path / str(seed), seed=seed, num_output_shards=num_shards)
    assert (contents(tmp_path / "-5") == contents(tmp_path / "5")) == is_equal


@pytest.mark.parametrize("objective", ["sentence_order", "full_sentences", "doc_sentences"])
def test_one_document_is_enough_without_random_parts(tmp_path, create, write, objective):
    text = write("text.txt", "the debugger stops here\nthe line is the first of it\nhere is another line\n")
    summary, _ = create(tmp_path, input_files=[text], settings=InstanceSettings(objective=objective, dupe_factor=2))
    assert (summary.counts.num_documents, summary.counts.num_records) == (1, 2)
