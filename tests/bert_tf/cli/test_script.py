"""The end of a script, its messages on standard error, and its settings of TensorFlow."""

import dataclasses
import errno
import fcntl
import os
import pickle
import signal
import sys
import tempfile

import pytest
import tensorflow as tf
from absl import flags
from tensorflow.python.framework import test_util

from bert_tf import processor
from bert_tf.cli import script
from bert_tf.cli.settings import Settings, setting
from bert_tf.errors import InputError, LostWorkerError, rename_argument
from tests.errors import rejects


@dataclasses.dataclass(frozen=True)
class Toy(Settings):
    max_seq_length: int = setting(128, "Toy.", min_value=4)


REPORT = "internal error in bert_tf; please report it"


@pytest.fixture
def run(monkeypatch, capsys):
    """(main, *arguments) -> (exit status, standard error) of a script.

    The script has the flag --max_seq_length.
    """

    def remove_flags():
        for name in ("max_seq_length", "traceback"):
            if name in flags.FLAGS:
                delattr(flags.FLAGS, name)

    def run_script(main, *arguments, takes_arguments=False):
        remove_flags()
        monkeypatch.setattr(sys, "argv", ["scripts/toy.py", *arguments])
        command = script.Command(
            Toy(), "no_job", arguments="max_seq_length" if takes_arguments else None
        )
        monkeypatch.setattr(command, "main", main)
        with pytest.raises(SystemExit) as caught:
            command.run()
        return caught.value.code or 0, capsys.readouterr().err

    yield run_script
    remove_flags()


def fails_with(error):
    def main(argv):
        raise error

    return main


def test_status_without_an_error(run):
    seen = []
    assert run(
        lambda argv: seen.append((argv, flags.FLAGS.max_seq_length)), "--max_seq_length=7"
    ) == (0, "")
    assert seen == [(["scripts/toy.py"], 7)]
    assert run(lambda argv: ["a", "report"]) == (0, "")
    assert run(lambda argv: sys.exit(3)) == (3, "")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            InputError(
                "`max_seq_length`=3: is below `doc_stride`; "
                "set `notraceback`, not `nontraceback` or traceback"
            ),
            "--max_seq_length=3: is below `doc_stride`; "
            "set --notraceback, not `nontraceback` or traceback",
        ),
        (InputError("two\n  lines"), "two lines"),
        (
            FileNotFoundError(errno.ENOENT, "No such file or directory", "a/b.txt"),
            "a/b.txt: No such file or directory",
        ),
        (
            FileNotFoundError(errno.ENOENT, "No such file or directory", "a\nb"),
            "a\\nb: No such file or directory",
        ),
        (OSError(), "OSError"),
        (MemoryError("Unable to allocate 9 TiB"), "not enough memory: Unable to allocate 9 TiB"),
        # The broken pipe is that of another process, not standard output.
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), "Broken pipe"),
        (
            tf.errors.NotFoundError(None, None, "a.tfrecord; No such file\n\t [[in the graph]]"),
            "a.tfrecord; No such file",
        ),
        (
            tf.errors.ResourceExhaustedError(
                None,
                None,
                "{{function_node __wrapped__CreateSummaryFileWriter_device_/job:a}} "
                "run/events.out; No space left on device [Op:CreateSummaryFileWriter]",
            ),
            "run/events.out; No space left on device; free some space, or choose another directory",
        ),
        (
            tf.errors.OutOfRangeError(None, None, "out/ckpt-3; File too large [Op:SaveV2]"),
            "out/ckpt-3; File too large; raise the limit of the size of files (ulimit -f)",
        ),
        (
            OSError("a.json: cannot be written: File too large"),
            "a.json: cannot be written: File too large; raise the limit of the size of files "
            "(ulimit -f)",
        ),
        (
            tf.errors.ResourceExhaustedError(
                None,
                None,
                "{{function_node a}} {{node b}} OOM when allocating tensor with shape"
                "[2000000000,8] and type float on /job:a/device:CPU:0 by allocator cpu [Op:Mul]",
            ),
            "not enough memory for a tensor of shape [2000000000,8] and type float; reduce the "
            "batch size, the sequence length, or the model size",
        ),
        (  # With XLA, by TensorFlow 2.20.
            tf.errors.ResourceExhaustedError(
                None,
                None,
                "Graph execution error:\n\nDetected at node while/PartitionedCall defined at (most "
                'recent call last):\n  File "/a.py", line 14, in <module>\n\n  File "/a.py", line '
                "8, in g\n\nOut of memory while trying to allocate 160000000000 bytes.\n\t "
                "[[{{node while/PartitionedCall}}]]\nHint: ...\n [Op:__inference_g_71]",
            ),
            "not enough memory for an allocation of 160,000.0 MB; reduce the batch size, the "
            "sequence length, or the model size",
        ),
        (
            tf.errors.ResourceExhaustedError(
                None,
                None,
                "Graph execution error:\n\nDetected at node b defined at (most recent call last):\n"
                "<stack traces unavailable>\n2 root error(s) found.\n  (0) RESOURCE_EXHAUSTED: OOM "
                "when allocating tensor with shape[2,8] and type half on /device:GPU:0",
            ),
            "not enough memory for a tensor of shape [2,8] and type half; reduce the batch size, "
            "the sequence length, or the model size",
        ),
        (
            tf.errors.UnavailableError(
                None,
                None,
                "Graph execution error:\n\nDetected at node a defined at (most recent call last):\n"
                "<stack traces unavailable>\nSocket closed\n\t [[{{node a}}]]",
            ),
            "Socket closed",
        ),
    ],
)
def test_invalid_input_is_one_line_and_status_1(run, error, line):
    assert run(fails_with(error)) == (1, f"toy.py: {line}\n")


def test_a_lost_worker_is_one_line_and_status_75(run):
    assert run(fails_with(LostWorkerError("out: lost worker 1"))) == (
        75,
        "toy.py: out: lost worker 1\n",
    )


@pytest.mark.parametrize(
    "error",
    [
        ValueError("`max_seq_length` is odd"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
        tf.errors.InvalidArgumentError(None, None, "Incompatible shapes"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_bug_shows_its_traceback_and_asks_for_a_report(run, error):
    status, errors = run(fails_with(error))
    assert status == 70
    first, *_, last = errors.splitlines()
    assert first == "Traceback (most recent call last):"
    assert ", in fails_with\n" not in errors
    assert "raise error" in errors
    assert f"{type(error).__name__}" in errors
    assert last == f"toy.py: {REPORT} with the command and the traceback above"


def test_traceback_of_invalid_input(run):
    status, errors = run(fails_with(InputError("wrong")), "--traceback")
    assert status == 1
    assert errors.startswith("Traceback (most recent call last):")
    assert errors.endswith("InputError: wrong\ntoy.py: wrong\n")
    assert REPORT not in errors


def test_a_long_line_is_shortened_in_its_middle(run):
    labels = ", ".join(map(str, range(1000)))
    status, errors = run(
        fails_with(InputError(f"label 'x' is unknown: the labels are {labels}; give another"))
    )
    assert status == 1
    assert errors.startswith("toy.py: label 'x' is unknown: the labels are 0, 1, 2, ")
    assert errors.endswith("998, 999; give another\n")
    assert 290 < len(errors) <= script.MAX_LINE + 1 == 301


def test_temporary_files_are_removed(run, tmp_path, monkeypatch):
    """The files of killed processes are removed; those of running or other programs are not."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "bert_tf_temporary_killed" / "inside").mkdir(parents=True)
    (tmp_path / "bert_tf_temporary_alive").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "bert_tf_temporary_link").symlink_to(tmp_path / "other")
    seen = []

    def main(argv):
        with tempfile.NamedTemporaryFile(delete=False) as file:
            seen.append(file.name)
        raise InputError("wrong")

    lock = os.open(tmp_path / "bert_tf_temporary_alive", os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert run(main) == (1, "toy.py: wrong\n")
    finally:
        os.close(lock)
    assert os.path.dirname(seen[0]).startswith(f"{tmp_path}/bert_tf_temporary_")
    assert sorted(os.listdir(tmp_path)) == [
        "bert_tf_temporary_alive",
        "bert_tf_temporary_link",
        "other",
    ]
    assert tempfile.tempdir == str(tmp_path)


@pytest.mark.parametrize("is_replaced", [False, True])
@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (signal.SIGTERM, (143, "\ntoy.py: ended by SIGTERM\n")),
        (signal.SIGINT, (130, "\ntoy.py: interrupted\n")),
    ],
)
def test_signals(run, number, expected, is_replaced):
    """A library may replace the exception.

    TensorFlow does so while it reports an error of a remote file.
    """

    def main(argv):
        try:
            signal.raise_signal(number)
        except BaseException:
            if is_replaced:
                raise RuntimeError("ORIGINAL AbortedError REPLACED BY Termination") from None
            raise
        finally:
            cleaned.append(argv)

    cleaned = []
    before = signal.getsignal(number)
    assert run(main) == expected
    assert cleaned
    assert signal.getsignal(number) is before


@pytest.mark.parametrize(
    ("argument", "line"),
    [
        (
            "--max_seq_lenth=5",
            "Unknown command line flag 'max_seq_lenth'. "
            "Did you mean: max_seq_length ? (see --help)",
        ),
        (
            "--max_seq_length=many",
            "flag --max_seq_length=many: "
            "invalid literal for int() with base 10: 'many' (see --help)",
        ),
        ("more", "unexpected argument 'more'; write flags as --name=value"),
        ("--max_seq_length=caf\udce9", "the command line is not valid UTF-8; rename the file"),
    ],
)
def test_invalid_flags(run, argument, line):
    assert run(lambda argv: pytest.fail("main must not run"), argument) == (1, f"toy.py: {line}\n")


def test_a_script_that_takes_arguments(run):
    seen = []
    assert run(seen.append, "a.tfrecord", takes_arguments=True) == (0, "")
    assert seen == [["scripts/toy.py", "a.tfrecord"]]


def test_an_error_from_another_process_and_about_another_argument():
    error = pickle.loads(pickle.dumps(InputError("is empty", "teacher", "a")))
    assert (str(error), error.argument, error.value) == ("`teacher`=a: is empty", "teacher", "a")
    with (
        rejects("teacher", "is empty", value="a"),
        rename_argument(init_checkpoint="teacher"),
    ):
        raise InputError("is empty", "init_checkpoint", "a")
    with (
        rejects("vocab_file", "is empty", value="a"),
        rename_argument(init_checkpoint="teacher"),
    ):
        raise InputError("is empty", "vocab_file", "a")


AMD = (
    "processor\t: 0\nmodel name\t: A CPU @ 2 GHz\nflags\t\t: fpu avx2 avx512_bf16\n\n"
    "processor\t: 1\nflags : fpu\n"
)
ARM = "processor\t: 0\nFeatures\t: fp asimd bf16\n"


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [(AMD, None, "1"), (AMD, "0", "0"), (AMD, "1", "1"), (ARM, None, None), ("", None, None)],
)
def test_onednn_is_enabled_with_avx2(tmp_path, monkeypatch, text, before, after):
    if text:
        (tmp_path / "cpuinfo").write_text(text)
    monkeypatch.setattr(processor, "CPU_INFO", str(tmp_path / "cpuinfo"))
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", before or "")  # recorded, to restore it at the end
    if not before:
        monkeypatch.delenv("TF_ENABLE_ONEDNN_OPTS")
    script.prepare_tensorflow()
    assert os.environ.get("TF_ENABLE_ONEDNN_OPTS") == after


def test_tensorflow_uses_onednn():
    if "avx2" not in processor.read()[1]:
        pytest.skip("this CPU has no AVX2")
    assert test_util.IsMklEnabled() == (os.environ["TF_ENABLE_ONEDNN_OPTS"] == "1")
