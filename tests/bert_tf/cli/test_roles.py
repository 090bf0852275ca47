"""Roles of paths, which are checked together."""

import dataclasses
from typing import ClassVar

import pytest

from bert_tf.cli import roles
from bert_tf.cli.settings import Settings, setting
from bert_tf.errors import InputError


@dataclasses.dataclass(frozen=True)
class Paths(Settings):
    outer_settings: ClassVar = ("unknown",)

    do_train: bool = setting(False, "Train.")
    task: str | None = setting(None, "Task.", required=True)
    train_file: str | None = setting(None, "File.", required="do_train", role=roles.INPUT_FILE)
    texts: str | None = setting(None, "Globs.", role=roles.INPUT_FILES)
    model: str | None = setting(None, "Folder.", role=roles.INPUT)
    dev_file: str | None = setting(None, "File.", required="run without model or unknown")
    teacher: str | None = setting(None, "Folder.", role=roles.CHECKPOINT)
    run: str | None = setting(None, "Folder.", role=roles.RUN_FOLDER)
    output_file: str | None = setting(None, "File.", role=roles.OUTPUT_FILE)


@pytest.mark.parametrize(("values", "message"), [
    ({"task": None}, "`task` is required"),
    ({"do_train": True}, "`train_file` is required with `do_train`"),
    ({"do_train": True, "train_file": "none"}, "`train_file`=none: does not exist"),
    ({"do_train": True, "train_file": "a.txt", "output_file": "a.txt"},
     "`output_file`=a.txt: would overwrite `train_file`; choose another path"),
    ({"texts": "*.txt", "output_file": "b.txt"},
     "`output_file`=b.txt: would be read by the next run as `texts`=*.txt; choose another path"),
    ({"run": "out"}, "`dev_file` is required with `run` without `model` or `unknown`"),
    ({"run": ".", "model": ".", "teacher": "."}, "`run`=.: is the directory of `teacher`; choose another directory"),
    ({"run": "out[1]", "model": "a"}, "`run`=out[1]: contains [, which TensorFlow interprets as a pattern when "
                                       "it searches for checkpoints; choose another name"),
    ({"model": ".", "output_file": "vocab.txt"},
     "`output_file`=vocab.txt: would overwrite a file of `model`=.; choose another path"),
])
def test_invalid_paths(tmp_path, monkeypatch, values, message):
    (tmp_path / "a.txt").write_text("a")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        roles.check(Paths(**{"task": "mrpc", **values}))
    assert str(caught.value) == message


def test_a_file_without_its_condition_is_not_checked(tmp_path):
    roles.check(Paths(task="mrpc", train_file="none", output_file=str(tmp_path / "none")))
