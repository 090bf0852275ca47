"""Standard streams and Ctrl-C of a script, in a process of its own."""

import os
import shlex
import signal
import subprocess
import sys

import pytest

from tests import scripts

pytestmark = pytest.mark.large

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(scripts.ROOT), "PYTHONUNBUFFERED": ""}
TOY = (
    "'''Toy.'''\nimport signal\nfrom bert_tf.cli import script, settings\n"
    "def main(argv):\n    print('output')\n    open('result', 'w').close()\n"
    "command = script.Command(settings.Settings(), None)\ncommand.main = main\ncommand.run()\n"
)
FULL = "toy.py: standard output cannot be written: No space left on device\n"
CLOSED = "toy.py: standard output is closed; redirect it to a file or to /dev/null\n"


def run_toy(folder, arguments="", toy=TOY):
    """Runs toy.py with arguments and redirections of bash.

    Returns its exit status and its standard error.
    """
    (folder / "toy.py").write_text(toy)
    done = subprocess.run(
        f"exec {shlex.quote(sys.executable)} toy.py {arguments}",
        shell=True,
        executable="/bin/bash",
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
        timeout=60,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("arguments", "expected", "works"),
    [
        ("--help", (0, ""), False),
        ("--help >/dev/full", (1, FULL), False),
        ("--help >&-", (1, CLOSED), False),
        (">/dev/full", (1, FULL), True),
        (">&-", (1, CLOSED), False),
        ("<&-", (0, ""), True),
        ("2>&-", (1, ""), False),
        (">&- 2>&-", (1, ""), False),
    ],
)
def test_standard_streams_that_are_closed_or_full(tmp_path, arguments, expected, works):
    assert run_toy(tmp_path, arguments) == expected
    assert (tmp_path / "result").exists() == works


@pytest.mark.parametrize("arguments", ["", "--help"])
def test_output_to_a_pipe_that_is_closed(tmp_path, arguments):
    """The output is larger than the buffer of a pipe, so the reader ends before it is written."""
    toy = TOY.replace("Toy.", "Toy.\n" + "word " * 30_000).replace("'output'", "'word ' * 30_000")
    assert run_toy(tmp_path, f"{arguments} | true; exit ${{PIPESTATUS[0]}}", toy) == (141, "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_a_script_at_once(tmp_path, number):
    """The script also ends while it handles the first signal, and without further cleanup."""
    toy = TOY.replace(
        "    print('output')\n",
        "    try:\n        signal.raise_signal(signal.SIGTERM)\n"
        f"    finally:\n        signal.raise_signal({int(number)})\n    ",
    )
    assert run_toy(tmp_path, toy=toy) == (-number, "")
    assert not (tmp_path / "result").exists()


@pytest.mark.parametrize("package", ["run", "data_prep"])
def test_ctrl_c_during_the_imports_of_a_script(tmp_path, package):
    name = {"run": "run_classifier", "data_prep": "learn_vocab"}[package]
    (tmp_path / "absl.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    done = scripts.run_python("-m", f"{package}.{name}", PYTHONPATH=f"{tmp_path}:{scripts.ROOT}")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", f"\n{name}.py: interrupted\n")


WRITING = """'''Writes.'''
import dataclasses, tensorflow as tf
from bert_tf import files
from bert_tf.cli import script, settings
@dataclasses.dataclass(frozen=True)
class Writing(settings.Settings):
    kind: str = settings.setting("s", "Toy.")
    output_dir: str | None = settings.setting(None, "Directory.")
def main(argv):
    if command.resolve().kind == "python":
        with files.new_file("small/new/a.json") as file:
            file.write("a" * 10000)
    else:
        raise tf.errors.ResourceExhaustedError(None, None, "small/new/1/a; No space left on device")
command = script.Command(Writing(), None)
command.main = main
command.run()
"""


READING = """'''Reads.'''
import dataclasses
from bert_tf.cli import script, settings
from bert_tf.errors import InputError
@dataclasses.dataclass(frozen=True)
class Reading(settings.Settings):
    input_file: str | None = settings.setting(None, "File.")
    prune: tuple[str, ...] = settings.setting((), "Files.")
def main(argv):
    path = command.resolve().input_file
    raise InputError(path + ":3: must be a JSON object")
command = script.Command(Reading(), None)
command.main = main
command.run()
"""


@pytest.mark.parametrize("arguments", ["--input_file=a.jsonl", "--input_file=a.jsonl --prune=b,c"])
def test_an_error_in_a_file_is_reported_with_the_flag(tmp_path, arguments):
    line = "toy.py: --input_file=a.jsonl:3: must be a JSON object\n"
    assert run_toy(tmp_path, arguments, READING) == (1, line)


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("python", "small/new/a.json: cannot be written: No space left on device"),
        pytest.param(
            "tensorflow",
            "small/new/1/a; No space left on device",
            marks=pytest.mark.extra_large,
        ),
    ],
)
def test_a_full_disk_is_reported_with_file_and_flag(tmp_path, kind, problem):
    (tmp_path / "small" / "new").mkdir(parents=True)
    (tmp_path / "small" / "new" / "a.json.partial").symlink_to("/dev/full")
    arguments = f"--output_dir=small/new --kind={kind}"
    assert run_toy(tmp_path, arguments, WRITING) == (
        1,
        f"toy.py: --output_dir=small/new: {problem}; free some space, or choose another "
        "directory\n",
    )
