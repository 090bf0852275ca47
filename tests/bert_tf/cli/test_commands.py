"""The command `bert-tf`."""

import pathlib
import sys

import pytest

from bert_tf.cli import commands
from tests import reference_page, scripts
from tests.errors import check_message, rejects


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["bert-tf", *arguments])
    commands.main()


def test_all_scripts_are_listed_once(monkeypatch, capsys):
    modules = [module for group in commands.SCRIPTS.values() for module in group]
    assert sorted(modules) == sorted(reference_page.find_scripts())
    for arguments in ([], ["--help"]):
        run(monkeypatch, *arguments)
        lines = capsys.readouterr().out.splitlines()
        assert "  learn_vocab               Learns a WordPiece vocabulary from text" in lines
        assert "Analysis:" in lines
        assert max(map(len, lines)) <= 120


def test_an_unknown_script(monkeypatch):
    with rejects(
        "bert-tf", "unknown script '--x'", "bert-tf without arguments lists all", error=SystemExit
    ):
        run(monkeypatch, "--x")


def call(*arguments, folder=None):
    code = "import sys; from bert_tf.cli import commands; sys.argv[0] = 'bert-tf'; commands.main()"
    return scripts.run_python("-c", code, *arguments, folder=folder)


@pytest.mark.large
def test_a_script_runs_with_its_flags():
    done = call("learn_vocab", "--vocab_size=x")
    assert (done.returncode, done.stdout) == (1, "")
    check_message(done.stderr, "learn_vocab.py", "--vocab_size=x: invalid literal for int()")


@pytest.mark.large
def test_a_package_of_another_project_with_the_same_name(tmp_path: pathlib.Path):
    """PyPI has such a package, `run` 0.3."""
    (tmp_path / "run-0.3.dist-info").mkdir()
    (tmp_path / "run-0.3.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: run\nVersion: 0.3\n"
    )
    (tmp_path / "run-0.3.dist-info" / "top_level.txt").write_text("run\n")
    done = call(folder=tmp_path)
    assert done.returncode == 1
    check_message(
        done.stderr, "bert-tf", "the package 'run'", "pip uninstall run", "install bert-tf"
    )
