import gzip
import hashlib
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.tokenization import BertTokenizer
from data_prep import create_pretraining_data, local_runner
from data_prep.instances import InstanceSettings

REFERENCE = pathlib.Path(__file__).parent.parent / "reference" / "text"
VOCAB_FILE = str(REFERENCE / "vocab.txt")
CORPUS_FILE = str(REFERENCE / "corpus.txt")
RUNS = {run["name"]: run for run in json.loads((REFERENCE / "pretraining.json").read_text())}


@pytest.fixture(scope="module")
def tokenizer():
    return BertTokenizer(VOCAB_FILE, lower_case=True)


def settings_of(run):
    fields = ("max_seq_length", "max_predictions_per_seq", "dupe_factor", "masked_lm_prob", "short_seq_prob",
              "do_whole_word_mask")
    return InstanceSettings(**{field: run[field] for field in fields})


def read_records(path):
    """All records of a file, as dicts of feature name to int64 or float32 arrays."""
    found = []
    for serialized in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
        features = tf.train.Example.FromString(serialized).features.feature
        found.append({name: np.array(feature.int64_list.value, "<i8") if feature.HasField("int64_list")
                      else np.array(feature.float_list.value, "<f4") for name, feature in features.items()})
    return found


def digest(found):
    sha256 = hashlib.sha256()
    for record in found:
        for name in sorted(record):
            sha256.update(name.encode())
            sha256.update(record[name].tobytes())
    return sha256.hexdigest()


@pytest.mark.parametrize("name", sorted(RUNS))
def test_records_are_the_originals(tmp_path, tokenizer, name):
    run = RUNS[name]
    output = str(tmp_path / "a.tfrecord")

    summary = local_runner.create_pretraining_data(
        [CORPUS_FILE], [output], tokenizer, settings_of(run), run["random_seed"])

    found = read_records(output)
    with np.load(REFERENCE / f"pretraining_{name}.npz") as expected:
        for feature in expected:
            np.testing.assert_array_equal([record[feature] for record in found[:200]], expected[feature])
    assert summary.num_records == len(found) == run["num_records"]
    assert digest(found) == run["sha256"]


def test_several_files_take_turns(tmp_path, tokenizer, monkeypatch):
    monkeypatch.setattr(local_runner, "BATCH", 10)
    one = [str(tmp_path / "one.tfrecord")]
    three = [str(tmp_path / "new" / f"{i}.tfrecord") for i in range(3)]
    for outputs in one, three:
        local_runner.create_pretraining_data([CORPUS_FILE], outputs, tokenizer, settings_of(RUNS["base"]), seed=5)

    (whole,), parts = map(read_records, one), [read_records(path) for path in three]

    assert len(parts[0]) == len(whole) // 3 == len(parts[2])
    assert [digest(part) for part in parts] == [digest(whole[i::3]) for i in range(3)]


def test_summary(tmp_path, tokenizer):
    output = str(tmp_path / "a.tfrecord")
    settings = InstanceSettings(max_seq_length=40, max_predictions_per_seq=5, dupe_factor=2)

    summary = local_runner.create_pretraining_data([CORPUS_FILE], [output], tokenizer, settings, seed=5)

    found = read_records(output)
    num_real = sum(record["input_mask"].sum() for record in found)
    num_masked = sum(record["masked_lm_weights"].sum() for record in found)
    assert (summary.num_bytes, summary.num_documents) == (os.path.getsize(CORPUS_FILE), 20)
    assert summary.num_records == len(found)
    assert summary.real_share == pytest.approx(num_real / (40 * len(found)))
    assert summary.masked_share == pytest.approx(num_masked / num_real)
    assert summary.random_next_share == np.mean([record["next_sentence_labels"] for record in found])
    # 0.15 of 37 to 40 ids is 5.55 to 6, so 6 are wanted and 5 given.
    lengths = np.array([record["input_mask"].sum() for record in found])
    assert summary.num_predictions_cut == np.count_nonzero(lengths >= 37)
    assert f"{summary.num_predictions_cut:,} predictions were cut" in str(summary)
    assert "warning" not in str(summary)


def test_summary_warns_of_unknown_tokens(tmp_path, tokenizer):
    text = tmp_path / "a.txt"
    text.write_text("one two \U0001F9FF\n\nthree\n")

    summary = local_runner.create_pretraining_data(
        [str(text)], [str(tmp_path / "a.tfrecord")], tokenizer, InstanceSettings(), seed=5)

    assert summary.unknown_share == 0.25
    assert summary.num_predictions_cut == 0
    assert "warning: 25.0% of the tokens are [UNK]" in str(summary)


def test_bad_text_leaves_no_file(tmp_path, tokenizer):
    text = tmp_path / "a.txt"
    text.write_text("one document\n")
    outputs = [str(tmp_path / "a.tfrecord"), str(tmp_path / "b.tfrecord")]

    with pytest.raises(ValueError, match="the text is one document"):
        local_runner.create_pretraining_data([str(text)], outputs, tokenizer, InstanceSettings(), seed=5)

    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize(("outputs", "message"), [
    ("{}/out,{}/in", r"--output_file=.*/in: is an input file too"),
    ("{}/../{name}/in", r"--output_file=.*/in: is an input file too"),
    ("{}/out,{}/./out", r"--output_file=.*/out: is named twice"),
    ("{}", r"--output_file=.*: is a directory"),
    ("{}/out,", r"--output_file=.*/out,: one of the names is empty"),
])
def test_check_outputs_refuses(tmp_path, outputs, message):
    outputs = outputs.replace("{}", str(tmp_path)).replace("{name}", tmp_path.name).split(",")

    with pytest.raises(ValueError, match=message):
        create_pretraining_data.check_outputs([str(tmp_path / "in")], outputs)


MODULE = ["-m", "data_prep.create_pretraining_data"]
SCRIPT = [create_pretraining_data.__file__]


def run_script(command, **flags):
    arguments = [f"--{name}={value}" for name, value in flags.items()]
    return subprocess.run([sys.executable, *command, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("command", [MODULE, SCRIPT], ids=["module", "script"])
def test_script(tmp_path, command):
    run = dict(RUNS["wwm"])
    count, sha256 = run.pop("num_records"), run.pop("sha256")
    del run["name"]
    half = pathlib.Path(CORPUS_FILE).read_bytes().index(b"\n\n") + 2
    (tmp_path / "1.txt.gz").write_bytes(gzip.compress(pathlib.Path(CORPUS_FILE).read_bytes()[:half]))
    (tmp_path / "2.txt").write_bytes(pathlib.Path(CORPUS_FILE).read_bytes()[half:])
    output = tmp_path / "a.tfrecord"

    done = run_script(command, input_file=f"{tmp_path}/*.txt*", output_file=output, vocab_file=VOCAB_FILE, **run)

    assert done.returncode == 0, done.stderr
    assert f"{count} records" in done.stdout
    for step in ("tokenizing", "making instances", "writing"):
        assert f"{step}: 100%" in done.stderr
    assert digest(read_records(output)) == sha256


@pytest.mark.parametrize(("flags", "message"), [
    ({}, "--input_file is needed"),
    ({"input_file": CORPUS_FILE}, "--output_file is needed"),
    ({"input_file": CORPUS_FILE, "output_file": "x"}, "--vocab_file is needed"),
    ({"input_file": CORPUS_FILE, "output_file": "x", "vocab_file": "none.txt"},
     "--vocab_file=none.txt: no such file"),
    ({"input_file": CORPUS_FILE, "output_file": "x", "vocab_file": VOCAB_FILE, "dupe_factor": 0},
     "dupe_factor is 0: it must be at least 1"),
])
def test_script_refuses(flags, message):
    done = run_script(SCRIPT, **flags)

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"create_pretraining_data.py: {message}"
    assert "Traceback" not in done.stderr
