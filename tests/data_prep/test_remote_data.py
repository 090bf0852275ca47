"""Text to records, and the readers of data sets, in folders that only TensorFlow knows (ram://)."""

import dataclasses
import gzip
import json
import pathlib

import numpy as np
import pytest

from bert_tf import files
from bert_tf.errors import InputError
from data_prep.pretraining import InstanceSettings, JobSettings, shards
from data_prep.pretraining import job as pretraining_job
from data_prep.records import InspectionSettings, inspection
from data_prep.tasks import conll, glue, squad, swag
from data_prep.vocabulary import VocabularySettings
from data_prep.vocabulary import job as vocabulary_job
from tests import remote_folders
from tests.remote_folders import put
from tests.settings import resolved

REFERENCE = pathlib.Path(__file__).parent.parent / "reference"
TEXT = (REFERENCE / "text" / "corpus.txt").read_bytes()


@pytest.fixture
def folder():
    return remote_folders.new_folder()


def test_a_vocabulary(folder, tmp_path, capsys):
    (tmp_path / "a.txt").write_bytes(TEXT)
    lines = TEXT.splitlines(keepends=True)
    put(f"{folder}/text/a.txt", b"".join(lines[:99]))
    put(f"{folder}/text/b.txt.gz", gzip.compress(b"".join(lines[99:])))
    settings = {"vocab_size": 300, "num_workers": 1}
    of_folder = VocabularySettings(input_file=f"{folder}/text/*", vocab_file=f"{folder}/vocab.txt", **settings)
    vocabulary_job.run(resolved(of_folder))
    assert capsys.readouterr().out.startswith(f"{folder}/vocab.txt: 300 entries")
    vocabulary_job.run(resolved(VocabularySettings(
        input_file=f"{tmp_path}/a.txt", vocab_file=f"{tmp_path}/vocab.txt", **settings)))
    assert files.read_bytes(f"{folder}/vocab.txt") == (tmp_path / "vocab.txt").read_bytes()
    with pytest.raises(InputError, match="lies where `input_file`"):
        resolved(dataclasses.replace(of_folder, vocab_file=f"{folder}/text/a.txt"))
    with pytest.raises(InputError, match="a file in a folder that exists is needed"):
        resolved(dataclasses.replace(of_folder, vocab_file=f"{folder}/none/vocab.txt"))


def settings_of(folder, **changes):
    instances = InstanceSettings(max_seq_length=40, max_predictions_per_seq=5, dupe_factor=2)
    return JobSettings(**{"input_file": f"{folder}/text", "output_file": f"{folder}/records/r.tfrecord",
                          "vocab_file": f"{folder}/vocab.txt", "num_output_shards": 3, "num_workers": 1,
                          "instances": instances, **changes})


def test_records_are_those_of_a_local_folder_though_the_run_was_stopped(folder, tmp_path, monkeypatch,
                                                                                     capsys):
    for place in (folder, str(tmp_path)):
        put(f"{place}/text/a.txt", TEXT)
        put(f"{place}/vocab.txt", (REFERENCE / "text" / "vocab.txt").read_bytes())
    make_shard = shards.make_shard

    def stops_at_the_third(task, *progress):
        if task.index == 2:
            put(f"{task.output_files[0]}.partial", "half")
            raise KeyboardInterrupt
        return make_shard(task, *progress)

    with monkeypatch.context() as patch:
        patch.setattr(shards, "make_shard", stops_at_the_third)
        with pytest.raises(KeyboardInterrupt):
            pretraining_job.run(settings_of(folder))
    names = [f"r-0000{number}-of-00003.tfrecord" for number in range(3)]
    assert files.names_in(f"{folder}/records") == [*names[:2], "r.tfrecord.manifest.json"]
    capsys.readouterr()
    pretraining_job.run(settings_of(folder))
    assert "2 of 3 shards are finished already, 1 are missing\n" in capsys.readouterr().out
    pretraining_job.run(settings_of(tmp_path))
    for name in names:
        assert files.read_bytes(f"{folder}/records/{name}") == (tmp_path / "records" / name).read_bytes()
    capsys.readouterr()
    inspection.run(InspectionSettings(f"{folder}/records/{names[0]}", f"{folder}/vocab.txt", num_records=1))
    assert capsys.readouterr().out.startswith(f"{folder}/records/{names[0]}, record 0: ")
    with pytest.raises(InputError, match=r"lies where `input_file`=.* looks"):
        pretraining_job.run(settings_of(folder, output_file=f"{folder}/text/r.tfrecord"))
    with pytest.raises(InputError, match="is a directory, a file name is needed"):
        pretraining_job.run(settings_of(folder, output_file=f"{folder}/records"))


def test_data_sets(folder):
    put(f"{folder}/own/train.csv", 'text,label\n"a, film",good\nbad one,bad\n')
    put(f"{folder}/own/dev.tsv", "text\tlabel\nx\tgood\n")
    task = glue.own_task(f"{folder}/own", "text")
    assert task.labels == ("bad", "good")
    assert glue.read_examples(task, f"{folder}/own", "train").text_a == ["a, film", "bad one"]
    with pytest.raises(InputError, match=rf"^{folder}/own/test\.tsv: no such file$"):
        glue.read_examples(task, f"{folder}/own", "test")

    put(f"{folder}/words.txt", "EU B-ORG\nrejects O\n\nPeter B-PER\n")
    assert conll.read_sentences(f"{folder}/words.txt", 0, -1).words == [["EU", "rejects"], ["Peter"]]

    for name in ("high/2.txt", "middle/1.json"):
        put(f"{folder}/race/{name}", json.dumps({
            "id": name, "article": "A.", "questions": ["Q?"], "options": [["a", "b"]], "answers": ["B"]}))
    questions = swag.read_race(f"{folder}/race")
    assert questions.guids == ["high/2.txt-0", "middle/1.json-0"]
    np.testing.assert_array_equal(questions.labels, [1, 1])
    with pytest.raises(InputError, match="none: no such file or folder"):
        swag.read_race(f"{folder}/none")

    question = {"id": "1", "question": "What?", "answers": [{"text": "cat", "answer_start": 2}]}
    put(f"{folder}/squad.json", json.dumps({"data": [{"paragraphs": [{"context": "A cat.", "qas": [question]}]}]}))
    assert squad.read_examples(f"{folder}/squad.json", True, False)[0].orig_answer_text == "cat"
