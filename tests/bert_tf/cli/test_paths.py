"""Checks of paths, local and remote, one at a time and together by their roles."""

import contextlib
import dataclasses
import os
from typing import ClassVar

import pytest
import tensorflow as tf

from bert_tf.cli import paths, roles
from bert_tf.cli.rules import Required, any_of
from bert_tf.cli.settings import Settings, setting
from tests.errors import Message, raises_message, rejects
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


def expect(argument, path, *parts):
    """Expects an InputError about a path; no error without parts of the message."""
    if not parts:
        return contextlib.nullcontext()
    return rejects(argument, *parts, value=path)


@pytest.mark.parametrize(
    ("check", "name", "parts"),
    [
        (paths.check_file, "a.txt", ()),
        (paths.check_file, "none", ("does not exist",)),
        (paths.check_file, "d", ("must be a file", "is a directory")),
        (paths.check_folder, "d", ()),
        (paths.check_folder, "a.txt", ("must be a directory", "is a file")),
        (paths.check_output_dir, "d", ()),
        (paths.check_output_dir, "new/run", ()),
        (paths.check_output_file, "a.txt", ()),
        (paths.check_output_file, "new[1]", ()),
        (paths.check_output_file, "d", ("must be a file", "is a directory")),
        (paths.check_output_file, "none/new", ("/none does not exist", "create it")),
    ],
)
def test_single_paths(root, check, name, parts):
    with expect("argument", f"{root}/{name}", *parts):
        check("argument", f"{root}/{name}")
    assert paths.files.at(f"{root}/{name}").exists() == (name in ("a.txt", "d"))


def test_a_pipe_cannot_be_read_twice(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with rejects("argument", "is not a regular file", "write its content to one"):
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
    ("pattern", "problem"),
    [("*.csv", "does not exist"), ("empty", "is a directory without files")],
)
def test_globs_without_files(root, pattern, problem):
    with expect("input_file", f"{root}/{pattern}", problem):
        paths.expand_globs("input_file", f"{root}/{pattern}")
    with rejects("input_file", "is required"):
        paths.expand_globs("input_file", ",")


def test_an_unreadable_directory_is_an_error(tmp_path, monkeypatch):
    def scandir(path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(PermissionError, match="Permission denied"):
        paths.files_below(str(tmp_path))


@dataclasses.dataclass(frozen=True)
class NextInput:
    """An output, and the patterns of the inputs of the next run.

    Attributes:
      output: str. Path of the output.
      patterns: str. Value of `input_file`, or None.
      is_folder: bool. Whether the output is a directory.
      is_found: bool. Whether the patterns include the output.
    """

    output: str
    patterns: str | None
    is_folder: bool
    is_found: bool


@pytest.mark.parametrize(
    "case",
    [
        NextInput(output="texts/a/b/new", patterns="texts", is_folder=False, is_found=True),
        NextInput(output="textsnew", patterns="texts", is_folder=False, is_found=False),
        NextInput(
            output="texts/new.txt", patterns="other/*,texts/*.txt", is_folder=False, is_found=True
        ),
        NextInput(output="texts/new.bin", patterns="texts/*.txt", is_folder=False, is_found=False),
        NextInput(output="runs/a/new.bin", patterns="runs/*", is_folder=False, is_found=True),
        NextInput(output="texts/new", patterns=None, is_folder=False, is_found=False),
        NextInput(output="gs://b/texts/new", patterns="texts", is_folder=False, is_found=False),
        NextInput(output="run", patterns="*.tfrecord", is_folder=True, is_found=False),
        NextInput(output="run", patterns=".", is_folder=True, is_found=True),
        NextInput(output="run", patterns="*", is_folder=True, is_found=True),
    ],
)
def test_outputs_that_the_next_run_would_read(tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts").mkdir()
    parts = ("would be read by the next run", "as `input_file`=", "choose another")
    with expect("output", case.output, *(parts if case.is_found else ())):
        paths.check_not_read(
            "output",
            case.output,
            {"eval_input_file": None, "input_file": case.patterns},
            case.is_folder,
        )


@pytest.mark.parametrize(
    ("output", "given", "parts"),
    [
        (
            "link",
            {"vocab_file": None, "models": ("a", "m/vocab.txt")},
            ("would overwrite `models`",),
        ),
        ("m/answers.jsonl", {"model": "m"}, ()),
        (
            "m/vocab.txt",
            {"init_checkpoint": "m/bert_model.ckpt"},
            ("would overwrite a file of", "`init_checkpoint`=m/bert_model.ckpt"),
        ),
        ("m/../d/dev.tsv", {"data_dir": "d"}, ("would overwrite a file of `data_dir`=d",)),
    ],
)
def test_outputs_that_would_replace_an_input(tmp_path, monkeypatch, output, given, parts):
    monkeypatch.chdir(tmp_path)
    for name in ("m/vocab.txt", "m/bert_model.ckpt.index", "m/answers.jsonl", "d/dev.tsv"):
        put(f"{tmp_path}/{name}", "x")
    os.symlink("m/vocab.txt", "link")
    with expect("output_file", output, *parts):
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
        ({"task": None}, Message("task", "is required")),
        ({"do_train": True}, Message("train_file", "is required with `do_train`")),
        (
            {"run": "out"},
            Message("dev_file", "is required with `run` without `model`", "`unknown`"),
        ),
        (
            {"run": "out[1]", "model": "a"},
            Message(
                "run",
                "contains [",
                "TensorFlow interprets as a pattern",
                "choose another name",
                value="out[1]",
            ),
        ),
    ],
)
def test_invalid_paths(tmp_path, monkeypatch, values, message):
    monkeypatch.chdir(tmp_path)
    with raises_message(message):
        roles.check_roles(Paths(**{"task": "mrpc", **values}))


def test_a_file_without_its_condition_is_not_checked(tmp_path):
    roles.check_roles(Paths(task="mrpc", train_file="none", output_file=str(tmp_path / "none")))
