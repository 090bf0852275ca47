"""Roles of paths, which are checked together."""

import dataclasses

import pytest

from bert_tf.cli import places
from bert_tf.cli.settings import Settings, setting
from bert_tf.errors import InputError


@dataclasses.dataclass(frozen=True)
class Paths(Settings):
    do_train: bool = setting(False, "Train.")
    task: str | None = setting(None, "Task.", required=True)
    train_file: str | None = setting(None, "File.", required="do_train", place=places.INPUT_FILE)
    texts: str | None = setting(None, "Globs.", place=places.INPUT_FILES)
    model: str | None = setting(None, "Folder.", place=places.MODEL)
    dev_file: str | None = setting(None, "File.", required="run without model or unknown")
    given: str | None = setting(None, "File.", place=places.INPUT)
    teacher: str | None = setting(None, "Folder.", place=places.CHECKPOINT)
    run: str | None = setting(None, "Folder.", place=places.RUN_FOLDER)
    output_file: str | None = setting(None, "File.", place=places.OUTPUT_FILE)
    output_dir: str | None = setting(None, "Folder.", place=places.OUTPUT_FOLDER)


@pytest.mark.parametrize(("values", "message"), [
    ({"task": None}, "`task` is required"),
    ({"do_train": True}, "`train_file` is required with `do_train`"),
    ({"do_train": True, "train_file": "none"}, "`train_file`=none: does not exist"),
    ({"output_dir": "a.txt"}, "`output_dir`=a.txt: must be a directory, but is a file"),
    ({"do_train": True, "train_file": "a.txt", "output_file": "a.txt"},
     "`output_file`=a.txt: would overwrite `train_file`; choose another path"),
    ({"texts": "*.txt", "output_file": "b.txt"},
     "`output_file`=b.txt: would be read by the next run as `texts`=*.txt; choose another path"),
    ({"texts": ".", "output_dir": "out"}, "`output_dir`=out: would be read by the next run as `texts`=.; choose "
                                          "another path"),
    ({"run": "out"}, "`dev_file` is required with `run` without `model` or `unknown`"),
    ({"run": ".", "model": ".", "teacher": "."}, "`run`=.: is the directory of `teacher`; choose another directory"),
    ({"run": "out[1]", "model": "a"}, "`run`=out[1]: contains [, which TensorFlow interprets as a pattern when "
                                       "it searches for checkpoints; choose another name"),
    ({"given": "c.txt", "output_file": "c.txt"}, "`output_file`=c.txt: would overwrite `given`; choose another path"),
    ({"model": ".", "output_file": "vocab.txt"},
     "`output_file`=vocab.txt: would overwrite a file of `model`=.; choose another path"),
])
def test_invalid_paths(tmp_path, monkeypatch, values, message):
    (tmp_path / "a.txt").write_text("a")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        places.check(Paths(**{"task": "mrpc", **values}))
    assert str(caught.value) == message


def test_a_file_without_its_condition_is_not_checked(tmp_path):
    places.check(Paths(task="mrpc", train_file="none", output_file=str(tmp_path / "none")))
