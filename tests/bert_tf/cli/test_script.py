"""How a script ends: its exit status, and what it says on standard error."""

import errno
import fcntl
import io
import os
import shlex
import signal
import subprocess
import sys
import tempfile

import pytest
import tensorflow as tf
from absl import flags

from bert_tf.cli import script
from bert_tf.errors import InputError
from tests import scripts

REPORT = "this is a fault of bert_tf, not of your input: please report it"


@pytest.fixture
def run(monkeypatch, capsys):
    """(main, *arguments) -> (exit status, standard error) of a script with the flag --max_seq_length."""
    def run_script(main, *arguments, **options):
        monkeypatch.setattr(sys, "argv", ["scripts/toy.py", *arguments])
        with pytest.raises(SystemExit) as caught:
            script.run(main, define_flags, **options)
        return caught.value.code or 0, capsys.readouterr().err

    def define_flags():
        flags.DEFINE_integer("max_seq_length", 128, "Toy.", lower_bound=4)

    yield run_script
    for name in ("max_seq_length", "traceback"):
        if name in flags.FLAGS:
            delattr(flags.FLAGS, name)


def fails_with(error):
    def main(argv):
        raise error
    return main


def test_a_script_that_ends_well(run):
    seen = []
    assert run(lambda argv: seen.append((argv, flags.FLAGS.max_seq_length)), "--max_seq_length=7") == (0, "")
    assert seen == [(["scripts/toy.py"], 7)]


def test_what_main_returns_is_no_exit_status(run):
    assert run(lambda argv: ["a", "report"]) == (0, "")


@pytest.mark.parametrize(("error", "line"), [
    (InputError("`max_seq_length`=3: is below `doc_stride`"), "--max_seq_length=3: is below `doc_stride`"),
    (InputError("two\n  lines"), "two lines"),
    (FileNotFoundError(errno.ENOENT, "No such file or directory", "a/b.txt"), "a/b.txt: No such file or directory"),
    (PermissionError(errno.EACCES, "Permission denied", "a", None, "b"), "a -> b: Permission denied"),
    (OSError(errno.EIO, "Input/output error"), "Input/output error"),
    (OSError("a/b.txt: cannot be written: No space left on device"),
     "a/b.txt: cannot be written: No space left on device"),
    (OSError(), "OSError"),
    (MemoryError("Unable to allocate 9 TiB"), "not enough memory: Unable to allocate 9 TiB"),
    (MemoryError(), "not enough memory"),
    (BrokenPipeError(errno.EPIPE, "Broken pipe"), "Broken pipe"),  # of another process, not of standard output
    (tf.errors.NotFoundError(None, None, "a.tfrecord; No such file\n\t [[in the graph]]"), "a.tfrecord; No such file"),
    (tf.errors.ResourceExhaustedError(None, None, "OOM when allocating"), "OOM when allocating"),
    (tf.errors.DataLossError(None, None, ""), "DataLossError"),
    (tf.errors.ResourceExhaustedError(None, None, "{{function_node __wrapped__CreateSummaryFileWriter_device_/job:a}} "
                                      "run/events.out; No space left on device [Op:CreateSummaryFileWriter]"),
     "run/events.out; No space left on device"),
    (tf.errors.ResourceExhaustedError(None, None, "{{function_node a}} {{node b}} OOM when allocating tensor with shape"
                                      "[2000000000,8] and type float on /job:a/device:CPU:0 by allocator cpu [Op:Mul]"),
     "not enough memory for numbers of shape [2000000000,8] and type float: smaller batches, shorter sequences or a "
     "smaller model need less"),
])
def test_a_mistake_is_one_line_and_status_1(run, error, line):
    assert run(fails_with(error)) == (1, f"toy.py: {line}\n")


@pytest.mark.parametrize("error", [
    ValueError("`max_seq_length` is odd"), KeyError("input_ids"), AssertionError(), RecursionError("too deep"),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), io.UnsupportedOperation("not writable"),
    tf.errors.InvalidArgumentError(None, None, "Incompatible shapes"),
    tf.errors.FailedPreconditionError(None, None, "uninitialized"), tf.errors.InternalError(None, None, "of a kernel"),
    tf.errors.CancelledError(None, None, "")], ids=lambda error: type(error).__name__)
def test_a_fault_shows_its_traceback_and_asks_for_a_report(run, error):
    status, said = run(fails_with(error))
    assert status == 70
    first, *_, last = said.splitlines()
    assert first == "Traceback (most recent call last):"
    assert ", in fails_with\n" not in said
    assert "raise error" in said
    assert f"{type(error).__name__}" in said
    assert last == f"toy.py: {REPORT} with the command and the lines above"


def test_every_environment_error_is_one_of_tensorflows():
    for name in script.ENVIRONMENT_ERRORS:
        assert issubclass(getattr(tf.errors, name), tf.errors.OpError)


def test_the_traceback_of_a_mistake_is_shown_when_asked_for(run):
    status, said = run(fails_with(InputError("wrong")), "--traceback")
    assert status == 1
    assert said.startswith("Traceback (most recent call last):")
    assert said.endswith("InputError: wrong\ntoy.py: wrong\n")
    assert REPORT not in said


def test_ctrl_c(run):
    assert run(fails_with(KeyboardInterrupt)) == (130, "\ntoy.py: interrupted\n")


def test_a_long_line_is_cut_in_its_middle(run):
    labels = ", ".join(map(str, range(1000)))
    status, said = run(fails_with(InputError(f"label 'x' is unknown: the labels are {labels}; give another")))
    assert status == 1
    assert said.startswith("toy.py: label 'x' is unknown: the labels are 0, 1, 2, ")
    assert said.endswith("998, 999; give another\n")
    assert " ... " in said
    assert 290 < len(said) <= script.LONGEST_LINE + 1 == 301


def test_a_name_with_a_line_break_makes_one_line(run):
    error = FileNotFoundError(errno.ENOENT, "No such file or directory", "a\nb")
    assert run(fails_with(error)) == (1, "toy.py: a\\nb: No such file or directory\n")


def test_temporary_files_go_with_the_script_or_with_the_next(run, tmp_path, monkeypatch):
    """Those of a process that was killed are cleared by the next; those of one that lives, and of others, are not."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "bert_tf_temporary_killed" / "inside").mkdir(parents=True)
    (tmp_path / "bert_tf_temporary_alive").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "bert_tf_temporary_link").symlink_to(tmp_path / "other")
    seen = []

    def main(argv):
        with tempfile.NamedTemporaryFile(delete=False) as file:
            seen.append(file.name)
        assert sorted(os.listdir(tmp_path)) == sorted(
            ["bert_tf_temporary_alive", "bert_tf_temporary_link", "other",
             os.path.basename(os.path.dirname(file.name))])
        raise InputError("wrong")

    lock = os.open(tmp_path / "bert_tf_temporary_alive", os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert run(main) == (1, "toy.py: wrong\n")
    finally:
        os.close(lock)
    assert os.path.dirname(seen[0]).startswith(f"{tmp_path}/bert_tf_temporary_")
    assert sorted(os.listdir(tmp_path)) == ["bert_tf_temporary_alive", "bert_tf_temporary_link", "other"]
    assert tempfile.tempdir == str(tmp_path)


def test_sigterm(run):
    def main(argv):
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            cleared.append(argv)

    cleared, before = [], signal.getsignal(signal.SIGTERM)
    assert run(main) == (143, "\ntoy.py: ended by SIGTERM\n")
    assert cleared
    assert signal.getsignal(signal.SIGTERM) is before


def test_an_exit_of_mains_own(run):
    assert run(lambda argv: sys.exit(3)) == (3, "")


@pytest.mark.parametrize(("argument", "line"), [
    ("--max_seq_lenth=5", "Unknown command line flag 'max_seq_lenth'. Did you mean: max_seq_length ? (see --help)"),
    ("--max_seq_length=many", "flag --max_seq_length=many: invalid literal for int() with base 10: 'many' "
                              "(see --help)"),
    ("--max_seq_length=3", "flag --max_seq_length=3: 3 is not integer >= 4 (see --help)"),
    ("more", "unexpected argument 'more': flags are written --name=value"),
])
def test_flags_that_do_not_parse(run, argument, line):
    assert run(lambda argv: pytest.fail("main must not run"), argument) == (1, f"toy.py: {line}\n")


def test_arguments_where_a_script_takes_them(run):
    seen = []
    assert run(seen.append, "a.tfrecord", takes_arguments=True) == (0, "")
    assert seen == [["scripts/toy.py", "a.tfrecord"]]


def test_names_in_backquotes_become_flags_where_there_are_such(run):
    run(lambda argv: None)
    assert script.with_flags("`max_seq_length`=3: `max_seq_lengths`, `max seq_length`, max_seq_length") == (
        "--max_seq_length=3: `max_seq_lengths`, `max seq_length`, max_seq_length")
    assert script.with_flags("`notraceback` or `nontraceback`") == "--notraceback or `nontraceback`"


def test_output_that_nobody_reads_ends_the_script_without_a_word():
    """As `toy.py | head -1`; in a process of its own, which has a standard output to close."""
    code = ("from bert_tf.cli import script\n"
            "def main(argv):\n    for line in range(100_000):\n        print(line)\n"
            "script.run(main, lambda: None)\n")
    with subprocess.Popen([sys.executable, "-c", code], cwd=scripts.ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "0\n"
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141


ENVIRONMENT = {**os.environ, "PYTHONPATH": str(scripts.ROOT), "PYTHONUNBUFFERED": ""}
TOY = ("from bert_tf.cli import script\n"
       "def main(argv):\n    print('output')\n    open('result', 'w').close()\n"
       "script.run(main, lambda: None)\n")


@pytest.mark.parametrize(("redirection", "arguments", "status", "error", "works"), [
    ("", ["--help"], 0, "", False),
    ("| head -1", ["--help"], 0, "", False),  # of head
    (">/dev/null", ["--helpfull"], 0, "", False),
    (">/dev/full", ["--help"], 1, "toy.py: standard output cannot be written: No space left on device\n", False),
    (">&-", ["--help"], 1, "toy.py: standard output is closed; redirect it to a file or to /dev/null\n", False),
    (">/dev/full", [], 1, "toy.py: standard output cannot be written: No space left on device\n", True),
    (">&-", [], 1, "toy.py: standard output is closed; redirect it to a file or to /dev/null\n", False),
    ("2>&-", [], 0, "", True),
    ("<&-", [], 0, "", True),
    ("<&- 2>&-", [], 0, "", True),
    (">&- 2>&-", [], 1, "", False),
])
def test_standard_streams_that_are_closed_or_full(tmp_path, redirection, arguments, status, error, works):
    (tmp_path / "toy.py").write_text(TOY)
    command = shlex.join([sys.executable, "toy.py", *arguments])
    done = subprocess.run(f"{command} {redirection}", shell=True, cwd=tmp_path, capture_output=True, text=True,
                          check=False, env=ENVIRONMENT)
    assert (done.returncode, done.stderr) == (status, error)
    assert (tmp_path / "result").exists() == works


def test_help_into_a_pipe_that_nobody_reads(tmp_path):
    """More than a pipe holds, so that it cannot be written before the reader is gone."""
    (tmp_path / "toy.py").write_text("'''Toy.\n" + "word " * 30_000 + "\n'''\n" + TOY)
    done = subprocess.run(f"{shlex.quote(sys.executable)} toy.py --help | true; exit ${{PIPESTATUS[0]}}",
                          shell=True, executable="/bin/bash", cwd=tmp_path, capture_output=True, text=True, check=False,
                          env=ENVIRONMENT)
    assert (done.returncode, done.stderr) == (141, "")


def test_ctrl_c_during_imports(tmp_path):
    """As early as the first library that the module of scripts imports."""
    (tmp_path / "absl").mkdir()
    (tmp_path / "absl" / "__init__.py").write_text("import signal\nsignal.raise_signal(signal.SIGINT)\n")
    (tmp_path / "toy.py").write_text(TOY)
    done = subprocess.run([sys.executable, "toy.py"], cwd=tmp_path, capture_output=True, text=True, check=False,
                          env=ENVIRONMENT)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "\ntoy.py: interrupted\n")


@pytest.mark.parametrize(("number", "expected"), [
    (signal.SIGTERM, (143, "\ntoy.py: ended by SIGTERM\n")), (signal.SIGINT, (130, "\ntoy.py: interrupted\n"))])
def test_an_error_that_replaces_the_exception_of_a_signal(run, number, expected):
    """As TensorFlow's bindings do while they report an error of a remote file."""
    def main(argv):
        try:
            signal.raise_signal(number)
        except BaseException:
            raise RuntimeError("ORIGINAL AbortedError REPLACED BY Terminated") from None

    assert run(main) == expected
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
