"""Checks of paths, local and remote, one at a time and together by their roles."""

import contextlib
import dataclasses
import os
import re
from typing import ClassVar

import pytest
import tensorflow as tf

from bert_tf.cli import paths, roles
from bert_tf.cli.rules import Required, any_of
from bert_tf.cli.settings import Settings, setting
from bert_tf.errors import InputError
from tests.errors import rejects
from tests.remote_folders import new_folder, put


@pytest.fixture(scope="module", params=["local", "remote"])
def root(request, tmp_path_factory):
    """Path, a str, of a directory with files."""
    path = str(tmp_path_factory.mktemp("root")) if request.param == "local" else new_folder()
    for name in (
        "a.txt",
        "b.txt",
        "a[1].txt",
        "c.gz",
        "r.tfrecord",
        "r.tfrecord.run.json",
        "r.tfrecord.shard.json",
        "s.tfrecord.partial",
        "d/z.txt",
        "d/_SUCCESS",
        "d/b/c.gz",
        "d/.hidden",
        "d/.git/x",
        "d/y.txt.partial",
        "empty/.x",
    ):
        put(f"{path}/{name}", "x")
    return path


def expect(argument_and_path, message):
    """Expects an InputError about a path; no error if the message is None."""
    if message is None:
        return contextlib.nullcontext()
    return pytest.raises(InputError, match=f"^{re.escape(argument_and_path)}.*{message}")


@pytest.mark.parametrize(
    ("check", "name", "message"),
    [
        (paths.check_file, "a.txt", None),
        (paths.check_file, "none", "does not exist$"),
        (paths.check_file, "d", "must be a file, but is a directory$"),
        (paths.check_folder, "d", None),
        (paths.check_folder, "a.txt", "must be a directory, but is a file$"),
        (paths.check_output_dir, "d", None),
        (paths.check_output_dir, "new/run", None),
        (paths.check_output_file, "a.txt", None),
        (paths.check_output_file, "new[1]", None),
        (paths.check_output_file, "d", "must be a file, but is a directory$"),
        (paths.check_output_file, "none/new", "the directory .*/none does not exist; create it"),
    ],
)
def test_single_paths(root, check, name, message):
    with expect(f"`argument`={root}/{name}: ", message):
        check("argument", f"{root}/{name}")
    assert paths.files.at(f"{root}/{name}").exists() == (name in ("a.txt", "d"))


def test_a_pipe_cannot_be_read_twice(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with expect("`argument`=", "is not a regular file; write its content to one first$"):
        paths.check_file("argument", str(tmp_path / "pipe"))


@pytest.mark.parametrize("check", [paths.check_file, paths.expand_globs])
def test_missing_values_and_inaccessible_buckets(check, monkeypatch):
    def stat(path):
        raise tf.errors.PermissionDeniedError(None, None, "no credentials")

    for path in (None, ""):
        with rejects("argument", "is required"):
            check("argument", path)
    monkeypatch.setattr(tf.io.gfile, "stat", stat)
    with pytest.raises(PermissionError, match=r"^gs://b/x: cannot be read: no credentials$"):
        check("argument", "gs://b/x")


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ("c.gz,[ab].txt,a.txt", ["c.gz", "a.txt", "b.txt"]),  # each once, sorted within a pattern
        ("a[1].txt", ["a[1].txt"]),
        ("[rs].tfrecord*", ["r.tfrecord"]),  # without descriptions and unfinished files
        ("r.tfrecord.run.json", ["r.tfrecord.run.json"]),
        ("d,d/z.txt", ["d/b/c.gz", "d/z.txt"]),
    ],
)
def test_globs(root, patterns, expected):
    patterns = ",".join(f"{root}/{pattern}" for pattern in patterns.split(","))
    assert paths.expand_globs("input_file", patterns) == [f"{root}/{name}" for name in expected]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [("*.csv", "does not exist$"), ("empty", "is a directory without files")],
)
def test_globs_without_files(root, pattern, message):
    with expect(f"`input_file`={root}/{pattern}: ", message):
        paths.expand_globs("input_file", f"{root}/{pattern}")
    with rejects("input_file", "is required"):
        paths.expand_globs("input_file", ",")


def test_an_unreadable_directory_is_an_error(tmp_path, monkeypatch):
    def scandir(path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(PermissionError, match="Permission denied"):
        paths.files_below(str(tmp_path))


@pytest.mark.parametrize(
    ("output", "patterns", "is_folder", "is_found"),
    [
        ("texts/a/b/new", "texts", False, True),
        ("textsnew", "texts", False, False),
        ("texts/new.txt", "other/*,texts/*.txt", False, True),
        ("texts/new.bin", "texts/*.txt", False, False),
        ("runs/a/new.bin", "runs/*", False, True),
        ("texts/new", None, False, False),
        ("gs://b/texts/new", "texts", False, False),
        ("run", "*.tfrecord", True, False),
        ("run", ".", True, True),
        ("run", "*", True, True),
    ],
)
def test_outputs_that_the_next_run_would_read(
    tmp_path, monkeypatch, output, patterns, is_folder, is_found
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts").mkdir()
    with expect(
        f"`output`={output}: would be read by the next run as `input_file`=",
        "; choose" if is_found else None,
    ):
        paths.check_not_read(
            "output", output, {"eval_input_file": None, "input_file": patterns}, is_folder
        )


@pytest.mark.parametrize(
    ("output", "given", "message"),
    [
        ("link", {"vocab_file": None, "models": ("a", "m/vocab.txt")}, "would overwrite `models`"),
        ("m/answers.jsonl", {"model": "m"}, None),
        (
            "m/vocab.txt",
            {"init_checkpoint": "m/bert_model.ckpt"},
            "would overwrite a file of `init_checkpoint`=m/bert_model.ckpt",
        ),
        ("m/../d/dev.tsv", {"data_dir": "d"}, "would overwrite a file of `data_dir`=d"),
    ],
)
def test_outputs_that_would_replace_an_input(tmp_path, monkeypatch, output, given, message):
    monkeypatch.chdir(tmp_path)
    for name in ("m/vocab.txt", "m/bert_model.ckpt.index", "m/answers.jsonl", "d/dev.tsv"):
        put(f"{tmp_path}/{name}", "x")
    os.symlink("m/vocab.txt", "link")
    with expect(f"`output_file`={output}: ", message):
        paths.check_not_overwritten("output_file", output, given)


@dataclasses.dataclass(frozen=True)
class Paths(Settings):
    outer_settings: ClassVar = ("unknown",)

    do_train: bool = setting(False, "Train.")
    task: str | None = setting(None, "Task.", rules=[Required()])
    train_file: str | None = setting(
        None, "File.", rules=[Required(when="do_train")], role=roles.INPUT_FILE
    )
    model: str | None = setting(None, "Folder.", role=roles.INPUT)
    dev_file: str | None = setting(
        None, "File.", rules=[Required(when="run", unless=any_of("model", "unknown"))]
    )
    run: str | None = setting(None, "Folder.", role=roles.RUN_FOLDER)
    output_file: str | None = setting(None, "File.", role=roles.OUTPUT_FILE)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"task": None}, "`task` is required"),
        ({"do_train": True}, "`train_file` is required with `do_train`"),
        ({"run": "out"}, "`dev_file` is required with `run` without `model` or `unknown`"),
        (
            {"run": "out[1]", "model": "a"},
            "`run`=out[1]: contains [, which TensorFlow interprets as a pattern when "
            "it searches for checkpoints; choose another name",
        ),
    ],
)
def test_invalid_paths(tmp_path, monkeypatch, values, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        roles.check_roles(Paths(**{"task": "mrpc", **values}))
    assert str(caught.value) == message


def test_a_file_without_its_condition_is_not_checked(tmp_path):
    roles.check_roles(Paths(task="mrpc", train_file="none", output_file=str(tmp_path / "none")))
