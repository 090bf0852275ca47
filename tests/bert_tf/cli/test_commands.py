"""The command `bert-tf`."""

import os
import pathlib
import subprocess
import sys
from importlib.machinery import ModuleSpec

import pytest

from bert_tf.cli import commands
from tests import scripts


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["bert-tf", *arguments])
    commands.main()


def list_modules():
    """Returns the names of all modules that define a script."""
    paths = [path for package in ("run", "data_prep") for path in (scripts.ROOT / package).glob("*.py")]
    paths.append(scripts.ROOT / "run" / "demo" / "__main__.py")
    return {str(path.relative_to(scripts.ROOT).with_suffix("")).replace("/", ".").removesuffix(".__main__")
            for path in paths if "COMMAND.run()" in path.read_text(encoding="utf-8")}


def test_all_scripts_are_listed_once():
    modules = [module for group in commands.SCRIPTS.values() for module in group]
    assert sorted(modules) == sorted(list_modules())
    names = [module.partition(".")[2] for module in modules]
    assert len({*names}) == len(names)
    lines = commands.list_scripts().splitlines()
    assert "  learn_vocab               Learns a WordPiece vocabulary from text" in lines
    assert "Analysis:" in lines
    assert max(map(len, lines)) <= 120


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_the_list_is_printed(monkeypatch, capsys, arguments):
    run(monkeypatch, *arguments)
    assert capsys.readouterr().out == f"{commands.list_scripts()}\n"


def test_unknown_scripts(monkeypatch):
    with pytest.raises(SystemExit, match=r"^bert-tf: unknown script 'run_clasifier'; did you mean run_classifier\?$"):
        run(monkeypatch, "run_clasifier")
    with pytest.raises(SystemExit, match=r"'--x'; bert-tf without arguments lists all scripts$"):
        run(monkeypatch, "--x")


def call(*arguments, folder=None):
    code = "import sys; from bert_tf.cli import commands; sys.argv[0] = 'bert-tf'; commands.main()"
    return subprocess.run([sys.executable, "-c", code, *arguments], cwd=folder, capture_output=True, text=True,
                          check=False, env={**os.environ, "PYTHONPATH": str(scripts.ROOT)})


@pytest.mark.large
@pytest.mark.parametrize(("arguments", "status", "output"), [
    (["learn_vocab", "--vocab_size=x"], 1, "learn_vocab.py: flag --vocab_size=x: invalid literal for int()"),
    (["run_classifier"], 1, "run_classifier.py: --data_dir is required without --data_file\n")])
def test_a_script_runs_with_its_flags(arguments, status, output):
    done = call(*arguments)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.startswith(output)


@pytest.mark.large
def test_a_package_of_another_project_with_the_same_name(tmp_path: pathlib.Path):
    """As `run` 0.3 from PyPI."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "__init__.py").touch()
    done = call("run_classifier", folder=tmp_path)
    assert (done.returncode, done.stderr) == (
        1, f"bert-tf: {tmp_path}/run/__init__.py is not the package 'run' of this project; rename it\n")
    (tmp_path / "run-0.3.dist-info").mkdir()
    (tmp_path / "run-0.3.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: run\nVersion: 0.3\n")
    (tmp_path / "run-0.3.dist-info" / "top_level.txt").write_text("run\n")
    done = call(folder=tmp_path)
    assert (done.returncode, done.stderr) == (
        1, "bert-tf: run from PyPI also installs the package 'run'; remove it with pip uninstall run, then install "
           "bert-tf again\n")


def test_missing_files_of_a_package(monkeypatch):
    """After another project with the same package has been removed, its directory is a namespace package."""
    monkeypatch.setattr(commands.importlib.util, "find_spec", lambda name: ModuleSpec(name, None))
    assert commands.find_foreign_package() == "files of the package 'run' are missing; install bert-tf again"
