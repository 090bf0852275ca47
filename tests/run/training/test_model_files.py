import pytest

from bert_tf.checkpoints import TokenizerFiles
from bert_tf.config import BertConfig
from run.training import model_files
from tests.errors import Message, raises_message, rejects

CONFIG = BertConfig(11, 6, 2, 3, 7)


def test_a_run_keeps_its_model_and_vocabulary(tmp_path):
    for name in ("first.txt", "second.txt"):
        (tmp_path / name).write_text(name)
    first, second = (TokenizerFiles(str(tmp_path / name)) for name in ("first.txt", "second.txt"))
    folder = str(tmp_path / "run")
    model_files.save_run_files(folder, CONFIG, first)
    assert BertConfig.from_json_file(tmp_path / "run" / "bert_config.json") == CONFIG
    model_files.save_run_files(folder, CONFIG, second)  # no checkpoint there: nothing to spoil
    (tmp_path / "run" / "checkpoint").touch()
    model_files.check_run_files(folder, CONFIG, second)
    with rejects(None, "first.txt", "differs from the vocabulary", "run in `output_dir`"):
        model_files.check_run_files(folder, CONFIG, first)
    with rejects(
        None,
        "contains a run of another model",
        "vocab_size 11",
        "`bert_config_file` has 12",
        "choose another directory",
    ):
        model_files.check_run_files(folder, BertConfig(12, 6, 2, 3, 7), second)
    assert (tmp_path / "run" / "vocab.txt").read_text() == "second.txt"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            ["bert_model.ckpt.index", "bert_config.json"],
            Message(None, "contains a model", "bert_model.ckpt.index", "not from a run"),
        ),
        (
            ["config.json", "model.safetensors"],
            Message(None, "contains a model, model.safetensors, that"),
        ),
        # The best/ of a run.
        (
            ["checkpoint", "best.json"],
            Message(None, "contains a model, checkpoint, that"),
        ),
        # These are files of a pruned model.
        (
            ["run.json", "bert_model.ckpt.index"],
            Message(None, "contains a model, bert_model.ckpt.index"),
        ),
        (
            ["bert_config.json"],
            Message(None, "would overwrite another bert_config.json", "choose another directory"),
        ),
        (["vocab.txt"], Message(None, "would overwrite another vocab.txt")),
        # The run was killed at its first checkpoint.
        (["run.json", "bert_config.json", "vocab.txt", "ckpt-5.index"], None),
        (["run.json", "checkpoint", "bert_config.json", "ckpt-5.index"], None),
        (["notes.txt"], None),
        ([], None),
    ],
)
def test_training_in_a_folder_that_holds_something(tmp_path, names, message):
    folder = tmp_path / "out"
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("theirs")
    model_files.check_directory(str(folder), CONFIG, TokenizerFiles(str(vocabulary), False))
    folder.mkdir()
    for name in names:
        (folder / name).write_text("ours")
    if message is None:
        model_files.check_directory(str(folder), CONFIG, TokenizerFiles(str(vocabulary), False))
        return
    with raises_message(message, file=f"`output_dir`={folder}"):
        model_files.check_directory(str(folder), CONFIG, TokenizerFiles(str(vocabulary), False))
    assert {path.name: path.read_text() for path in folder.iterdir()} == dict.fromkeys(
        names, "ours"
    )


def test_files_that_would_not_change_are_in_nobodys_way(tmp_path):
    (tmp_path / "bert_config.json").write_text(CONFIG.to_json())
    (tmp_path / "vocab.txt").write_text("x")
    model_files.check_directory(str(tmp_path), CONFIG, TokenizerFiles(str(tmp_path / "vocab.txt")))
    assert not model_files.has_started(str(tmp_path))
