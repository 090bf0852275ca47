import json

import pytest

from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from run.settings import OptimizerSettings, StepSettings
from run.training import run_metadata

CONFIG = BertConfig(11, 6, 2, 3, 7)


def test_a_run_is_resumed_only_with_what_it_was_started_with(tmp_path):
    folder = str(tmp_path)
    run_metadata.keep(folder, CONFIG, {"train_batch_size": 6, "optimizer": "adamw"})
    run_metadata.check(folder, CONFIG, {"train_batch_size": 8})  # no checkpoint there: nothing to spoil
    run_metadata.keep(folder, CONFIG, {"train_batch_size": 7, "optimizer": "adamw"})
    (tmp_path / "checkpoint").touch()
    run_metadata.check(folder, CONFIG, {"train_batch_size": 7, "optimizer": "adamw", "masking": "static"})
    with pytest.raises(ValueError, match=r"`output_dir`=.* holds a run with `train_batch_size` 7, not 8; choose"):
        run_metadata.check(folder, CONFIG, {"train_batch_size": 8, "optimizer": "adamw"})
    run_metadata.keep(folder, CONFIG, {"train_batch_size": 8})
    assert json.loads((tmp_path / "run.json").read_text()) == {"train_batch_size": 7, "optimizer": "adamw"}


def test_settings_that_may_change_are_said(tmp_path):
    folder = str(tmp_path)
    before = run_metadata.changeable_settings(
        OptimizerSettings(learning_rate=0.25, no_weight_decay=("a", "b")), StepSettings(), {"num_train_steps": 9})
    run_metadata.keep(folder, CONFIG, {"train_batch_size": 7}, changeable=before)
    now = run_metadata.changeable_settings(
        OptimizerSettings(learning_rate=0.5, no_weight_decay=("a",)),
        StepSettings(mixed_precision="bfloat16", accumulate_steps=2), {"num_train_steps": 9, "added_later": 1})
    assert run_metadata.changes(folder, now) is None  # no checkpoint there: a new run
    (tmp_path / "checkpoint").touch()
    assert run_metadata.changes(folder, before) is None
    assert run_metadata.changes(folder, now) == (
        "goes on with other settings than it was started with: `learning_rate` 0.5 (was 0.25), `no_weight_decay` a "
        "(was a,b), `mixed_precision` bfloat16 (was float32)")
    run_metadata.check(folder, CONFIG, {"train_batch_size": 7})
    run_metadata.keep(folder, CONFIG, {"train_batch_size": 7}, changeable=now)
    assert json.loads((tmp_path / "run.json").read_text())["changeable"]["learning_rate"] == 0.25
    (tmp_path / "run.json").write_text('{"train_batch_size": 7}')  # of a run that kept none
    assert run_metadata.changes(folder, now) is None


def test_which_optimizer_it_is_may_not_change():
    assert "optimizer" not in run_metadata.changeable_settings(OptimizerSettings(), StepSettings(), {})


@pytest.mark.parametrize(("content", "message"), [("{", "run.json: is not JSON"), ("[]", "expected a JSON object")])
def test_a_run_file_that_is_damaged(tmp_path, content, message):
    (tmp_path / "checkpoint").touch()
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(ValueError, match=message):
        run_metadata.check(str(tmp_path), CONFIG, {"train_batch_size": 8})


def test_a_fingerprint_tells_names_sizes_and_contents_but_not_folders(tmp_path):
    for name in ("a/1", "a/2", "b/1", "b/2"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x" * int(name[-1]))
    first = run_metadata.fingerprint([str(tmp_path / "a" / "1"), str(tmp_path / "a" / "2")])
    assert first == {"files": 2, "bytes": 3,
                     "sha256": "e62b6bb74fedf516e34e61d432e984498d5188f5c30b3c8e6559e0f1c804116a",
                     "contents": "654a28fb7a77c0fa7c6cd5573a02e2fd1bf35ce51aca3e09e74c79b441ec7186"}
    assert first == run_metadata.fingerprint([str(tmp_path / "b" / "1"), str(tmp_path / "b" / "2")])
    assert first != run_metadata.fingerprint([str(tmp_path / "b" / "2"), str(tmp_path / "b" / "1")])
    (tmp_path / "b" / "2").write_bytes(b"xy")
    assert first != run_metadata.fingerprint([str(tmp_path / "b" / "1"), str(tmp_path / "b" / "2")])


def test_large_files_are_told_apart_by_a_sample(tmp_path, monkeypatch):
    monkeypatch.setattr(run_metadata, "WHOLE_BYTES", 1000)
    monkeypatch.setattr(run_metadata, "BLOCK_BYTES", 10)
    path = tmp_path / "large"
    path.write_bytes(bytes(2003))
    first = run_metadata.fingerprint([str(path)])
    for place, is_seen in ((0, True), (2002, True), (1000, False)):
        content = bytearray(2003)
        content[place] = 1
        path.write_bytes(content)
        assert (run_metadata.fingerprint([str(path)]) != first) == is_seen


def test_runs_of_before_contents_were_compared(tmp_path):
    (tmp_path / "data").write_bytes(b"xyz")
    now = run_metadata.fingerprint([str(tmp_path / "data")])
    (tmp_path / "checkpoint").touch()
    old = {name: value for name, value in now.items() if name != "contents"}
    (tmp_path / "run.json").write_text(json.dumps({"input_file": old}))
    run_metadata.check(str(tmp_path), CONFIG, {"input_file": now})
    with pytest.raises(ValueError, match="of 3 bytes"):
        run_metadata.check(str(tmp_path), CONFIG, {"input_file": {**now, "bytes": 4}})


def test_a_run_keeps_its_model_and_vocabulary(tmp_path):
    for name in ("first.txt", "second.txt"):
        (tmp_path / name).write_text(name)
    first, second = (str(tmp_path / name) for name in ("first.txt", "second.txt"))
    folder = str(tmp_path / "run")
    run_metadata.keep(folder, CONFIG, {}, first)
    assert BertConfig.from_json_file(tmp_path / "run" / "bert_config.json") == CONFIG
    run_metadata.keep(folder, CONFIG, {}, second)  # no checkpoint there: nothing to spoil
    (tmp_path / "run" / "checkpoint").touch()
    run_metadata.check(folder, CONFIG, {}, second)
    with pytest.raises(ValueError, match=r"=.*first\.txt: is not the vocabulary of the run in `output_dir`"):
        run_metadata.check(folder, CONFIG, {}, first)
    with pytest.raises(ValueError, match="holds the run of another model, with vocab_size 11, and "
                                         "`bert_config_file` says 12; choose another folder"):
        run_metadata.check(folder, BertConfig(12, 6, 2, 3, 7), {}, second)
    assert (tmp_path / "run" / "vocab.txt").read_text() == "second.txt"


@pytest.mark.parametrize(("names", "message"), [
    (["bert_model.ckpt.index", "bert_config.json"], "holds a model, bert_model.ckpt.index, that no run"),
    (["config.json", "model.safetensors"], "holds a model, model.safetensors, that"),
    (["checkpoint", "best.json"], "holds a model, checkpoint, that"),  # the best/ of a run
    (["run.json", "bert_model.ckpt.index"], "holds a model, bert_model.ckpt.index"),  # a pruned model
    (["bert_config.json"], "holds another bert_config.json, which would be replaced; choose another"),
    (["vocab.txt"], "holds another vocab.txt, which would be replaced"),
    (["run.json", "bert_config.json", "vocab.txt", "ckpt-5.index"], None),  # killed at its first checkpoint
    (["run.json", "checkpoint", "bert_config.json", "ckpt-5.index"], None),
    (["notes.txt"], None), ([], None)])
def test_training_in_a_folder_that_holds_something(tmp_path, names, message):
    folder, vocabulary = tmp_path / "out", tmp_path / "vocab.txt"
    vocabulary.write_text("theirs")
    run_metadata.check_place(str(folder), CONFIG, str(vocabulary))
    folder.mkdir()
    for name in names:
        (folder / name).write_text("ours")
    if message is None:
        run_metadata.check_place(str(folder), CONFIG, str(vocabulary))
        return
    with pytest.raises(InputError, match=f"^`output_dir`={folder}: {message}"):
        run_metadata.check_place(str(folder), CONFIG, str(vocabulary))
    assert {path.name: path.read_text() for path in folder.iterdir()} == dict.fromkeys(names, "ours")


def test_files_that_would_not_change_are_in_nobodys_way(tmp_path):
    (tmp_path / "bert_config.json").write_text(CONFIG.to_json())
    (tmp_path / "vocab.txt").write_text("x")
    run_metadata.check_place(str(tmp_path), CONFIG, str(tmp_path / "vocab.txt"))
    assert not run_metadata.began(str(tmp_path))


def test_changeable_settings_that_are_damaged(tmp_path):
    (tmp_path / "checkpoint").touch()
    (tmp_path / "run.json").write_text('{"changeable": [3]}')
    with pytest.raises(InputError, match=r"run.json: changeable is \[3\]: it must be an object"):
        run_metadata.changes(str(tmp_path), {"learning_rate": 1})
