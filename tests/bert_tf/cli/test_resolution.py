"""What is taken of a checkpoint's folder, what of the command line, and what is said where they differ."""

import dataclasses
import json
import os

import pytest

from bert_tf.cli import resolution, script
from bert_tf.cli.model_settings import ModelSettings, TokenizerSettings
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.model_folder.finding import find
from bert_tf.tokenization import read_vocabulary
from run.finetuning.settings import FineTuningSettings
from run.pretraining.settings import PretrainingSettings, RecordSettings
from run.settings import TrainingSettings

SMALL = BertConfig(8, 6, 2, 3, 7, max_position_embeddings=13, type_vocab_size=5)
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "größe", "##n", "a"]


@pytest.fixture
def bert(tmp_path, monkeypatch):
    """A folder of Hugging Face, cased, without weights; the working directory is the one that it is in."""
    folder = tmp_path / "bert"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(SMALL.to_dict() | {"model_type": "bert"}))
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n", encoding="utf-8")
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture(autouse=True)
def flags(monkeypatch):
    """The flags of a script, as which its messages show the settings."""
    monkeypatch.setattr("absl.flags.FLAGS", {"bert_config_file", "vocab_file", "do_lower_case", "strip_accents"})


def told(settings, given):
    """Settings with the values that something beside their checkpoint tells."""
    found = find(resolution.places_of(settings))
    found.check_no_pickle()
    return settings.with_values(resolution.told_values(resolution.told_settings(settings), given, found, script.warn))


def complete(given=None, **settings):
    """FineTuningSettings of what is given on a command line, completed: the groups model and tokenizer."""
    given = {"init_checkpoint": "bert"} | (given or {})
    groups = {name: dataclasses.replace(group, **{key: given[key] for key in given if hasattr(group, key)})
              for name, group in (("model", ModelSettings()), ("tokenizer", TokenizerSettings()))}
    done = told(FineTuningSettings(**groups, **settings), given)
    return done.model, done.tokenizer


@pytest.mark.usefixtures("bert")
def test_nothing_need_be_given(capsys):
    model, tokenizer = complete()
    assert model.bert_config_file == "bert/config.json"
    assert (tokenizer.vocab_file, tokenizer.do_lower_case, tokenizer.strip_accents) == ("bert/vocab.txt", False, None)
    assert complete({"init_checkpoint": "bert/model.safetensors"})[0].bert_config_file == "bert/config.json"
    assert capsys.readouterr().err == ""


def test_accents_may_stay_in_lower_case(bert):
    (bert / "tokenizer_config.json").write_text('{"do_lower_case": true, "strip_accents": false}')
    tokenizer = complete()[1]
    assert (tokenizer.do_lower_case, tokenizer.strip_accents) == (True, False)
    tokenizer = complete({"strip_accents": True})[1]
    assert (tokenizer.do_lower_case, tokenizer.strip_accents) == (True, True)
    tokenizer = complete({"do_lower_case": False})[1]  # that casing counts no more, and its exception neither
    assert (tokenizer.do_lower_case, tokenizer.strip_accents) == (False, None)


def test_accents_that_follow_the_casing_can_be_contradicted_too(bert, capsys):
    (bert / "tokenizer_config.json").write_text('{"do_lower_case": true}')
    tokenizer = complete({"strip_accents": False})[1]
    assert (tokenizer.do_lower_case, tokenizer.strip_accents) == (True, False)
    assert capsys.readouterr().err == (
        "note: --strip_accents=False: bert/tokenizer_config.json says True; what is given counts\n")


def test_where_nothing_tells_the_casing_it_is_the_flags_default(bert):
    (bert / "tokenizer_config.json").unlink()
    assert complete()[1].do_lower_case is True


def test_what_is_given_counts_and_a_contradiction_is_a_line(bert, capsys):
    other = dataclasses.replace(SMALL, hidden_dropout_prob=0.3, hidden_act="gelu_exact")
    (bert.parent / "mine.json").write_text(other.to_json())
    (bert.parent / "mine.txt").write_text("\n".join([*PIECES[:-1], "b"]), encoding="utf-8")
    (bert / "model.safetensors").touch()
    given = {"bert_config_file": "mine.json", "vocab_file": "mine.txt", "do_lower_case": True}
    model, tokenizer = complete(given)
    assert (model.bert_config_file, tokenizer.vocab_file, tokenizer.do_lower_case) == tuple(given.values())
    assert capsys.readouterr().err.splitlines() == [
        "note: --bert_config_file=mine.json: says hidden_dropout_prob 0.3, bert/config.json says 0.1; what is given "
        "counts",
        "note: --vocab_file=mine.txt: is another vocabulary than bert/vocab.txt; what is given counts",
        "note: --do_lower_case=True: bert/tokenizer_config.json says False; what is given counts"]
    complete({"bert_config_file": "bert/config.json", "vocab_file": "bert/vocab.txt", "do_lower_case": False})
    assert capsys.readouterr().err == ""


def test_a_folder_that_cannot_be_used_does_no_harm_where_all_is_given(bert, capsys):
    (bert.parent / "mine.json").write_text(SMALL.to_json())
    (bert / "config.json").write_text('{"model_type": "electra"}')
    (bert / "tokenizer_config.json").write_text('{"tokenize_chinese_chars": false}')
    complete({"bert_config_file": "mine.json", "vocab_file": "bert/vocab.txt", "do_lower_case": True})
    assert capsys.readouterr().err == ""
    with pytest.raises(InputError, match="tokenize_chinese_chars is False: only True is supported"):
        complete({"bert_config_file": "mine.json"})


def test_a_published_name_tells_the_casing_and_refuses_another_itself(bert, capsys):
    (bert / "tokenizer_config.json").unlink()
    bert.rename("cased_L-12_H-768_A-12")
    assert complete({"init_checkpoint": "cased_L-12_H-768_A-12"})[1].do_lower_case is False
    complete({"init_checkpoint": "cased_L-12_H-768_A-12", "do_lower_case": True})  # check_casing's work
    assert capsys.readouterr().err == ""


def test_the_vocabulary_in_tokenizer_json(bert, capsys):
    (bert / "vocab.txt").rename("vocab.txt")
    (bert / "tokenizer.json").write_text(json.dumps({"model": {
        "type": "WordPiece", "unk_token": "[UNK]", "vocab": {piece: id_ for id_, piece in enumerate(PIECES)}}}))
    for given in ({}, {"vocab_file": "bert/tokenizer.json"}):
        path = complete(given)[1].vocab_file
        assert os.path.basename(path) == "vocab.txt"
        assert read_vocabulary(path) == PIECES
    complete({"vocab_file": "vocab.txt"})
    assert capsys.readouterr().err == ""


def test_a_tokenizer_json_that_is_no_vocabulary_of_bert_is_named(bert):
    (bert / "vocab.txt").unlink()
    (bert / "tokenizer.json").write_text(json.dumps({"model": {"type": "WordPiece", "vocab": {"[PAD]": 0, "a": 1}}}))
    with pytest.raises(InputError, match=r"^bert/tokenizer\.json, as lines: has no line \[UNK\]"):
        complete()


def test_a_vocabulary_larger_than_the_model(bert):
    (bert / "vocab.txt").write_text("\n".join([*PIECES, "more"]), encoding="utf-8")
    with pytest.raises(InputError, match=r"bert/vocab.txt: has 9 entries, and bert/config.json has vocab_size 8: they"):
        complete()
    pieces = {piece: id_ for id_, piece in enumerate([*PIECES, "more"])}
    (bert / "vocab.txt").unlink()
    (bert / "tokenizer.json").write_text(json.dumps({"model": {"type": "WordPiece", "vocab": pieces}}))
    with pytest.raises(InputError, match=r"bert/tokenizer.json: has 9 entries, and bert/config.json has vocab_size 8"):
        complete()


@pytest.mark.parametrize(("name", "message"), [
    ("config.json", "^`bert_config_file` is required: there is no bert_config.json beside `init_checkpoint`=bert, nor "
                    "a config.json or params.yaml$"),
    ("vocab.txt", "^`vocab_file` is required: there is no vocab.txt beside `init_checkpoint`=bert, nor a tokenizer."),
])
def test_what_neither_is_given_nor_lies_there(bert, name, message):
    (bert / name).unlink()
    with pytest.raises(InputError, match=message):
        complete()


def test_a_pickle_is_refused_at_once(bert):
    (bert / "pytorch_model.bin").touch()
    with pytest.raises(InputError, match=r"bert/pytorch_model.bin: is a pickle"):
        complete()


def test_a_run_that_is_resumed_or_evaluated_has_its_own_files(bert, capsys):
    bert.rename("out")
    of_run = {"training": TrainingSettings(output_dir="out")}
    model, tokenizer = complete({"init_checkpoint": None}, **of_run)  # holds no run
    assert (model.bert_config_file, tokenizer.vocab_file) == (None, None)
    with open("out/checkpoint", "w"):
        pass
    model, tokenizer = complete({"init_checkpoint": None}, **of_run)
    assert model.bert_config_file == "out/config.json"
    assert (tokenizer.vocab_file, tokenizer.do_lower_case) == ("out/vocab.txt", False)
    model, tokenizer = complete({"init_checkpoint": "gone"}, **of_run)
    assert (model.bert_config_file, tokenizer.vocab_file) == ("out/config.json", "out/vocab.txt")
    with open("mine.json", "w") as file:
        file.write(dataclasses.replace(SMALL, num_attention_heads=2).to_json())
    complete({"init_checkpoint": None, "bert_config_file": "mine.json", "do_lower_case": True}, **of_run)
    assert capsys.readouterr().err == ""  # the run refuses them itself
    os.remove("out/vocab.txt")
    with pytest.raises(InputError, match=r"there is no vocab.txt beside `output_dir`=out, nor a tokenizer.json"):
        complete({"init_checkpoint": None}, **of_run)


def test_several_runs_of_a_task_have_their_files_in_the_folder_of_all(bert):
    os.makedirs("bert/run_1")
    of_runs = {"training": TrainingSettings(output_dir="bert")}
    assert complete({"init_checkpoint": None}, **of_runs)[1].vocab_file is None
    with open("bert/run_1/checkpoint", "w"):
        pass
    model, tokenizer = complete({"init_checkpoint": None}, **of_runs)
    assert (model.bert_config_file, tokenizer.vocab_file) == ("bert/config.json", "bert/vocab.txt")
    assert tokenizer.do_lower_case is False


def test_pre_training_needs_a_vocabulary_for_dynamic_masking_alone(bert):
    def complete(masking):
        settings = PretrainingSettings(model=ModelSettings(init_checkpoint="bert"), records=RecordSettings(
            masking=masking))
        return told(settings, {"init_checkpoint": "bert"})

    assert complete("dynamic").records.vocab_file == "bert/vocab.txt"
    (bert / "vocab.txt").unlink()
    assert complete("static").model.bert_config_file == "bert/config.json"
    assert complete("static").records.vocab_file is None
