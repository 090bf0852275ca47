"""Data preparation in directories that only TensorFlow can access (ram://)."""

import gzip
import json

import pytest

from bert_tf import files
from data_prep.datasets import conll, multiple_choice
from data_prep.pretraining import InstanceSettings, JobSettings
from data_prep.pretraining import job as pretraining_job
from data_prep.records import inspection
from data_prep.records.settings import InspectionSettings
from data_prep.tasks import squad
from data_prep.vocabulary import VocabularySettings
from data_prep.vocabulary import job as vocabulary_job
from tests import remote_folders
from tests.conftest import REFERENCE
from tests.errors import Message, raises_message
from tests.remote_folders import put
from tests.settings import resolved


@pytest.fixture
def folder_url():
    return remote_folders.new_folder()


def test_vocabulary_and_records_match_a_local_run(folder_url, tmp_path, capsys):
    """Missing shards are created again."""

    def run(root, output_file="records/r.tfrecord"):
        vocabulary_job.run(
            resolved(
                VocabularySettings(
                    f"{root}/text/*", f"{root}/vocab.txt", vocab_size=300, num_workers=1
                )
            )
        )
        pretraining_job.run(
            JobSettings(
                input_file=f"{root}/text",
                output_file=f"{root}/{output_file}",
                vocab_file=f"{root}/vocab.txt",
                num_output_shards=3,
                num_workers=1,
                instances=InstanceSettings(max_seq_length=40, dupe_factor=2),
            )
        )

    lines = (REFERENCE / "text" / "corpus.txt").read_bytes().splitlines(keepends=True)
    names = [f"records/r-0000{number}-of-00003.tfrecord" for number in range(3)]
    for root in (folder_url, str(tmp_path)):
        put(f"{root}/text/a.txt", b"".join(lines[:99]))
        put(f"{root}/text/b.txt.gz", gzip.compress(b"".join(lines[99:])))
        run(root)
    files.at(f"{folder_url}/{names[2]}").remove()
    # A file system of ram:// would take this name for a directory: others begin with it.
    put(f"{folder_url}/records/r.tfrecord", "")
    run(folder_url)
    assert "2 of 3 shards are finished, 1 are missing\n" in capsys.readouterr().out
    for name in ("vocab.txt", *names):
        assert files.read_bytes(f"{folder_url}/{name}") == (tmp_path / name).read_bytes()
    inspection.run(
        InspectionSettings(f"{folder_url}/{names[0]}", f"{folder_url}/vocab.txt", num_records=1)
    )
    assert capsys.readouterr().out.startswith(f"{folder_url}/{names[0]}, record 0: ")
    for path, message in (
        ("text/r.tfrecord", Message(None, "would be read", "next run as `input_file`=")),
        ("records", Message(None, "must be a file", "is a directory")),
    ):
        with raises_message(message):
            run(folder_url, path)


def test_datasets(folder_url):
    put(f"{folder_url}/words.txt", "EU B-ORG\nrejects O\n\nPeter B-PER\n")
    assert conll.read_sentences(f"{folder_url}/words.txt", 0, -1).words == [
        ["EU", "rejects"],
        ["Peter"],
    ]

    for name in ("high/2.txt", "middle/1.json"):
        put(
            f"{folder_url}/race/{name}",
            json.dumps(
                {
                    "id": name,
                    "article": "A.",
                    "questions": ["Q?"],
                    "options": [["a", "b"]],
                    "answers": ["B"],
                }
            ),
        )
    assert multiple_choice.read_race(f"{folder_url}/race").guids == [
        "high/2.txt-0",
        "middle/1.json-0",
    ]

    question = {"id": "1", "question": "What?", "answers": [{"text": "cat", "answer_start": 2}]}
    put(
        f"{folder_url}/squad.json",
        json.dumps({"data": [{"paragraphs": [{"context": "A cat.", "qas": [question]}]}]}),
    )
    assert squad.read_examples(f"{folder_url}/squad.json", True, False)[0].orig_answer_text == "cat"
