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
    ({"do_train": True, "train_file": "none"}, "`train_file`=none: no such file"),
    ({"output_dir": "a.txt"}, "`output_dir`=a.txt: is a file, a folder is needed"),
    ({"do_train": True, "train_file": "a.txt", "output_file": "a.txt"},
     "`output_file`=a.txt: is `train_file`, which would be lost"),
    ({"texts": "*.txt", "output_file": "b.txt"},
     "`output_file`=b.txt: lies where `texts`=*.txt looks: it would be read by the next run"),
    ({"texts": ".", "output_dir": "out"}, "`output_dir`=out: lies where `texts`=. looks: it would be read by the next "
                                          "run"),
    ({"run": "out"}, "`dev_file` is required with `run` without `model` or `unknown`"),
    ({"run": ".", "model": ".", "teacher": "."}, "`run`=.: is the folder of `teacher`; give another"),
    ({"run": "out[1]", "model": "a"}, "`run`=out[1]: has [ in its name, which TensorFlow takes for a "
                                       "pattern when it looks for checkpoints there; choose another name"),
    ({"given": "c.txt", "output_file": "c.txt"}, "`output_file`=c.txt: is `given`, which would be lost"),
    ({"model": ".", "output_file": "vocab.txt"},
     "`output_file`=vocab.txt: is a file of `model`=., which would be lost"),
])
def test_invalid_paths(tmp_path, monkeypatch, values, message):
    (tmp_path / "a.txt").write_text("a")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        places.check(Paths(**{"task": "mrpc", **values}))
    assert str(caught.value) == message


def test_a_file_without_its_condition_is_not_checked(tmp_path):
    places.check(Paths(task="mrpc", train_file="none", output_file=str(tmp_path / "none")))
