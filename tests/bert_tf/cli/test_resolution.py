"""Values from files next to a checkpoint, from the command line, and notes if they differ."""

import dataclasses
import json
import os

import pytest

from bert_tf.cli import resolution, script
from bert_tf.cli.model_files import ModelFiles
from bert_tf.config import BertConfig
from bert_tf.tokenization.vocabulary import describe_lines, read_vocabulary
from data_prep.pretraining import JobSettings
from data_prep.vocabulary import VocabularySettings
from run.finetuning.settings import FineTuningSettings
from run.inference.settings import FillMaskSettings
from run.training.settings import TrainingSettings
from tests.errors import Message, check_message, raises_message, rejects
from tests.settings import resolved

SMALL = BertConfig(8, 6, 2, 3, 7, max_position_embeddings=13, type_vocab_size=5)
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "größe", "##n", "a"]


@pytest.fixture
def bert(tmp_path, monkeypatch):
    """A cased model of Hugging Face without weights, in the current directory."""
    folder = tmp_path / "bert"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(SMALL.to_dict() | {"model_type": "bert"}))
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n", encoding="utf-8")
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture(autouse=True)
def flags(monkeypatch):
    """The flags of a script, which its messages name."""
    monkeypatch.setattr(
        "absl.flags.FLAGS", {"bert_config_file", "vocab_file", "do_lower_case", "strip_accents"}
    )


def resolve_fine_tuning(given=None, **settings):
    """Returns the resolved groups `model` and `tokenizer`.

    Args:
      given: Dict of explicit settings, in addition to the checkpoint "bert".
      **settings: Arguments of FineTuningSettings.
    """
    given = {"init_checkpoint": "bert"} | (given or {})
    settings = FineTuningSettings(**settings).replace_values(given)
    sources = resolution.get_value_sources(settings)
    found = ModelFiles(resolution.find_model_paths(settings))
    settings = settings.replace_values(
        resolution.resolve_values(sources, given, found, script.warn)
    )
    return settings.model, settings.tokenizer


@dataclasses.dataclass(frozen=True)
class Casing:
    """Sources of the casing, and its values.

    Attributes:
      content: Dict. Content of tokenizer_config.json.
      given: Dict of the explicit settings.
      expected: Pair of do_lower_case and strip_accents.
      note: str. Note of the script.
    """

    content: dict
    given: dict
    expected: tuple
    note: str


@pytest.mark.parametrize(
    "case",
    [
        Casing(content={}, given={}, expected=(True, None), note=""),
        Casing(
            content={"do_lower_case": True, "strip_accents": False},
            given={},
            expected=(True, False),
            note="",
        ),
        Casing(
            content={"do_lower_case": True, "strip_accents": False},
            given={"strip_accents": True},
            expected=(True, True),
            note="note: --strip_accents=True overrides bert/tokenizer_config.json (False)\n",
        ),
        # The file sets `strip_accents` for another casing, so the value does not apply.
        Casing(
            content={"do_lower_case": True, "strip_accents": False},
            given={"do_lower_case": False},
            expected=(False, None),
            note="note: --do_lower_case=False overrides bert/tokenizer_config.json (True)\n",
        ),
    ],
)
def test_casing_and_accents(bert, capsys, case):
    (bert / "tokenizer_config.json").write_text(json.dumps(case.content))
    tokenizer = resolve_fine_tuning(case.given)[1]
    assert (tokenizer.do_lower_case, tokenizer.strip_accents) == case.expected
    assert capsys.readouterr().err == case.note


def test_explicit_files_take_precedence(bert, capsys):
    other = dataclasses.replace(SMALL, hidden_dropout_prob=0.3, hidden_act="gelu_exact")
    (bert.parent / "mine.json").write_text(other.to_json())
    (bert.parent / "mine.txt").write_text("\n".join([*PIECES[:-1], "b"]), encoding="utf-8")
    (bert / "model.safetensors").touch()
    given = {"bert_config_file": "mine.json", "vocab_file": "mine.txt", "do_lower_case": True}
    model, tokenizer = resolve_fine_tuning(given)
    assert (model.bert_config_file, tokenizer.vocab_file, tokenizer.do_lower_case) == tuple(
        given.values()
    )
    config, vocabulary, casing = capsys.readouterr().err.splitlines()
    check_message(config, "note", "--bert_config_file=mine.json overrides bert/config.json")
    check_message(
        vocabulary,
        "note",
        "--vocab_file=mine.txt overrides bert/vocab.txt",
        f"1 of {len(PIECES)} IDs",
    )
    check_message(
        casing, "note", "--do_lower_case=True overrides bert/tokenizer_config.json (False)"
    )
    resolve_fine_tuning(
        {
            "bert_config_file": "bert/config.json",
            "vocab_file": "bert/vocab.txt",
            "do_lower_case": False,
        }
    )
    assert capsys.readouterr().err == ""


def test_unsupported_files_are_ignored_if_all_values_are_explicit(bert, capsys):
    (bert.parent / "mine.json").write_text(SMALL.to_json())
    (bert / "config.json").write_text('{"model_type": "roberta"}')
    (bert / "tokenizer_config.json").write_text('{"tokenize_chinese_chars": false}')
    resolve_fine_tuning(
        {"bert_config_file": "mine.json", "vocab_file": "bert/vocab.txt", "do_lower_case": True}
    )
    assert capsys.readouterr().err == ""
    with rejects(None, "tokenize_chinese_chars is False", "only True is supported"):
        resolve_fine_tuning({"bert_config_file": "mine.json"})


@pytest.mark.usefixtures("bert")
def test_notes_on_lines_of_a_vocabulary(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(["a", *PIECES]) + "\n\n")
    (tmp_path / "text.txt").touch()
    notes = []
    resolved(JobSettings("text.txt", "a.tfrecord", "vocab.txt"), announce=notes.append)
    resolved(VocabularySettings("text.txt", "vocab.txt"), announce=notes.append)  # It is written.
    assert notes == [
        f"note: `vocab_file`=vocab.txt: {message}"
        for message in describe_lines(read_vocabulary("vocab.txt"))
    ]


def test_a_vocabulary_of_another_model(bert):
    (bert / "vocab.txt").write_text("\n".join([*PIECES, "more"]), encoding="utf-8")
    _, tokenizer = resolve_fine_tuning()
    with rejects("vocab_file", "has 9 entries", "model has only 8", value="bert/vocab.txt"):
        tokenizer.read_tokenizer("bert", SMALL)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "config.json",
            Message(
                "bert_config_file",
                "is required",
                "there is no bert_config.json",
                "config.json",
                "params.yaml",
                "directory `init_checkpoint`=bert",
            ),
        ),
        (
            "vocab.txt",
            Message("vocab_file", "is required", "there is no vocab.txt or tokenizer.json"),
        ),
    ],
)
def test_missing_files(bert, name, message):
    (bert / name).unlink()
    with raises_message(message):
        resolve_fine_tuning()


def test_a_run_has_its_own_files(bert, capsys):
    bert.rename("out")
    run = {"training": TrainingSettings(output_dir="out")}
    # The directory contains no run yet.
    model, tokenizer = resolve_fine_tuning({"init_checkpoint": None}, **run)
    assert (model.bert_config_file, tokenizer.vocab_file) == (None, None)
    with open("out/checkpoint", "w"):
        pass
    for checkpoint in (None, "gone"):
        model, tokenizer = resolve_fine_tuning({"init_checkpoint": checkpoint}, **run)
        assert model.bert_config_file == "out/config.json"
        assert (tokenizer.vocab_file, tokenizer.do_lower_case) == ("out/vocab.txt", False)
    with open("mine.json", "w") as file:
        file.write(dataclasses.replace(SMALL, num_attention_heads=2).to_json())
    resolve_fine_tuning(
        {"init_checkpoint": None, "bert_config_file": "mine.json", "do_lower_case": True}, **run
    )
    assert capsys.readouterr().err == ""  # the run itself rejects them
    os.remove("out/vocab.txt")
    with rejects(None, "there is no vocab.txt or tokenizer.json", "directory `output_dir`=out"):
        resolve_fine_tuning({"init_checkpoint": None}, **run)


def test_several_runs_share_the_files_of_their_directory(bert):
    os.makedirs("bert/run_1")
    runs = {"training": TrainingSettings(output_dir="bert")}
    assert resolve_fine_tuning({"init_checkpoint": None}, **runs)[1].vocab_file is None
    with open("bert/run_1/checkpoint", "w"):
        pass
    model, tokenizer = resolve_fine_tuning({"init_checkpoint": None}, **runs)
    assert (model.bert_config_file, tokenizer.vocab_file) == ("bert/config.json", "bert/vocab.txt")
    assert tokenizer.do_lower_case is False


def resolve_all(settings, **explicit):
    return resolved(settings.replace_values(explicit), explicit, script.warn)


def test_the_length_of_a_served_model_defaults_to_its_positions(bert):
    """The default of the flag, 128, is only for models with as many positions."""
    settings = FillMaskSettings().replace_values({"init_checkpoint": "bert"})
    found = resolve_all(settings)
    assert (found.served_task.max_seq_length, found.tokenizer.max_seq_length) == (13, 13)
    assert resolve_all(settings, max_seq_length=9).served_task.max_seq_length == 9
    with rejects("max_seq_length", "must be at most 13 (max_position_embeddings", value=14):
        resolve_all(settings, max_seq_length=14)
    (bert / "config.json").write_text(
        json.dumps(
            dataclasses.replace(SMALL, max_position_embeddings=300).to_dict()
            | {"model_type": "bert"}
        )
    )
    assert resolve_all(settings).served_task.max_seq_length == 128
