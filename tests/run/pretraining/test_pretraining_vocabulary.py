"""The vocabulary and the casing of a pre-training run: from flags, records, or the checkpoint."""

import json
import os
import shutil

import pytest

from bert_tf.checkpoints import TokenizerFiles
from bert_tf.cli.paths import RUN_SUFFIX
from bert_tf.cli.run_state import CHANGEABLE
from bert_tf.config import BertConfig
from data_prep.reading import compute_digest
from run.pretraining.settings import PretrainingSettings
from tests.errors import Message, raises_message, rejects
from tests.settings import resolved

SPECIALS = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"
DIFFERENCE = ": 1 of 7 IDs have another token"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The current directory, with a config, two vocabularies, and a cased checkpoint.

    The checkpoint has the second vocabulary.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bert").mkdir()
    for path in (tmp_path, tmp_path / "bert"):
        (path / "bert_config.json").write_text(
            BertConfig(7, 6, 2, 3, 7, type_vocab_size=2).to_json()
        )
    (tmp_path / "vocab.txt").write_text(f"{SPECIALS}a\n##b\n")
    (tmp_path / "bert" / "vocab.txt").write_text(f"{SPECIALS}b\n##b\n")
    (tmp_path / "bert" / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    return tmp_path


def write_records(names, shards=1, vocab_file="vocab.txt", **flags):
    """Writes empty record files and the description of their run, like create_pretraining_data."""
    names = names.split(",")
    for name in names:
        for number in range(shards):
            open(
                name if shards == 1 else name.replace(".", f"-{number:05}-of-{shards:05}."), "wb"
            ).close()
    run = {
        "do_lower_case": True,
        "strip_accents": None,
        "output_file": ",".join(names),
        "num_output_shards": shards,
        "vocab_file": {"contents": compute_digest(vocab_file)},
        CHANGEABLE: {"vocab_file": os.path.abspath(vocab_file)},
    }
    with open(names[0] + RUN_SUFFIX, "w", encoding="utf-8") as file:
        json.dump(run | flags, file)


def resolve(capsys, **values):
    """Returns the resolved PretrainingSettings, and the notes."""
    if "init_checkpoint" not in values:
        values["bert_config_file"] = "bert_config.json"
    values = {"input_file": "a.tfrecord", "output_dir": "out", "do_train": True} | values
    settings = resolved(PretrainingSettings().replace_values(values), values)
    return settings, capsys.readouterr().err


@pytest.mark.parametrize(
    ("names", "shards", "patterns"),
    [
        ("a.tfrecord", 1, "a.tfrecord"),
        ("a.tfrecord,b.tfrecord", 1, "b.tfrecord"),
        ("a.tfrecord,b.tfrecord", 3, "b-0000*,other.tfrecord"),
        ("a.tfrecord", 2, "a-*"),
    ],
)
@pytest.mark.parametrize(
    "casing", [{}, {"do_lower_case": False}, {"do_lower_case": True, "strip_accents": False}]
)
def test_records_name_their_vocabulary(folder, capsys, names, shards, patterns, casing):
    (folder / "other.tfrecord").touch()
    for name, content in (("damaged", "{"), ("other", '{"num_output_shards": 1}'), ("list", "[]")):
        (folder / f"{name}{RUN_SUFFIX}").write_text(content)
    write_records(names, shards, **casing)
    settings, notes = resolve(capsys, input_file=patterns)
    assert settings.tokenizer == TokenizerFiles(
        str(folder / "vocab.txt"), casing.get("do_lower_case", True), casing.get("strip_accents")
    )
    assert notes == ""


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, TokenizerFiles()),
        ({"vocab_file": "vocab.txt"}, TokenizerFiles("vocab.txt")),
        ({"init_checkpoint": "bert"}, TokenizerFiles("bert/vocab.txt", False)),
        (
            {"init_checkpoint": "bert", "vocab_file": "vocab.txt"},
            TokenizerFiles("vocab.txt", False),
        ),
    ],
)
def test_records_without_a_description(folder, capsys, values, expected):
    (folder / "a.tfrecord").touch()
    settings, notes = resolve(capsys, **values)
    assert settings.tokenizer == expected
    assert notes == {
        (
            "init_checkpoint",
            "vocab_file",
        ): (
            "note: the vocabulary vocab.txt overrides the one of "
            f"`init_checkpoint`=bert{DIFFERENCE}\n"
        ),
    }.get(tuple(values), "")


@pytest.mark.parametrize("change", ["removed", "changed"])
def test_a_vocabulary_that_is_not_found_unchanged(folder, capsys, change):
    write_records("a.tfrecord", do_lower_case=False)
    shutil.copy("vocab.txt", "copy.txt")
    (folder / "vocab.txt").unlink()
    if change == "changed":
        (folder / "vocab.txt").write_text(f"{SPECIALS}a\n##c\n")
    settings, notes = resolve(capsys)
    assert settings.tokenizer == TokenizerFiles(None, False)
    assert notes == (
        f"note: the vocabulary of the records, {folder}/vocab.txt, is missing or was changed, so "
        "it is not saved with the model; set `vocab_file`\n"
    )
    settings, notes = resolve(capsys, vocab_file="copy.txt")
    assert settings.tokenizer == TokenizerFiles("copy.txt", False)


def test_records_take_precedence_over_a_checkpoint(folder, capsys):
    write_records("a.tfrecord")
    settings, notes = resolve(capsys, init_checkpoint="bert")
    assert settings.tokenizer == TokenizerFiles(str(folder / "vocab.txt"), True)
    assert notes.splitlines() == [
        "note: the records have do_lower_case True (a.tfrecord.run.json), which overrides "
        "bert/tokenizer_config.json (False)",
        f"note: the vocabulary {folder}/vocab.txt overrides the one of "
        f"`init_checkpoint`=bert{DIFFERENCE}",
    ]


def test_contradictions(folder, capsys):
    write_records("a.tfrecord")
    write_records("b.tfrecord", vocab_file="bert/vocab.txt")
    with rejects(
        "vocab_file",
        "differs from the vocabulary",
        f"{folder}/vocab.txt (in a.tfrecord.run.json)",
        "omit `vocab_file`",
        "create the records again",
        value="bert/vocab.txt",
    ):
        resolve(capsys, vocab_file="bert/vocab.txt")
    with rejects(
        "input_file",
        "a.tfrecord.run.json and b.tfrecord.run.json",
        "different vocabularies",
        value="a.tfrecord",
    ):
        resolve(capsys, eval_input_file="b.tfrecord")


def test_dynamic_masking_requires_a_vocabulary(folder, capsys):
    (folder / "a.tfrecord").touch()
    message = Message(
        "vocab_file", "is required with `masking`=dynamic", "neither a run.json", "nor"
    )
    with raises_message(message):
        resolve(capsys, masking="dynamic")
    assert (
        resolve(capsys, masking="dynamic", init_checkpoint="bert")[0].vocab_file == "bert/vocab.txt"
    )
    write_records("a.tfrecord")
    assert resolve(capsys, masking="dynamic")[0].vocab_file == str(folder / "vocab.txt")
