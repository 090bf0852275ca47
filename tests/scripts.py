"""Runs the project's scripts in separate processes, as a user does, or in this process.

A fork server that has imported TensorFlow (`tests.preloaded`) starts the processes. `run_python`
starts Python instead.
"""

import atexit
import contextlib
import gc
import importlib
import multiprocessing
import os
import pathlib
import random
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import time
from unittest import mock

import absl.flags
import numpy as np

ROOT = pathlib.Path(__file__).parent.parent
SECONDS = 300  # Limit for a script with a toy model.
# Thresholds of Python's garbage collector. With the defaults it takes a tenth of a script's time,
# since traced graphs consist of many objects.
COLLECTION = 100_000, 50, 100
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["tests.preloaded"])


def run_script(module, folder=None, **flags):
    """Runs `python -m module --name=value ...` in `folder`.

    Returns the CompletedProcess, with output as text.
    """
    return run(command(module, **flags), folder)


def run_python(*arguments, folder=None, **environment):
    """Runs a new Python interpreter that finds this project.

    Returns the CompletedProcess, with output as text.
    """
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )


def command(module, **flags):
    """Returns the command line of a script.

    Flags with the value None are omitted, and those with a tuple are repeated.
    """
    arguments = [
        f"--{name}={each}"
        for name, value in flags.items()
        if value is not None
        for each in (value if isinstance(value, tuple) else (value,))
    ]
    return [sys.executable, "-m", module, *arguments]


def succeed(module, folder=None, **flags):
    """Runs a script that must succeed; returns what it printed on standard output."""
    done = run_script(module, folder, **flags)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def fail(module, folder=None, **flags):
    """Runs a script that must reject its input; returns the last line of standard error.

    Lines of progress come before that line.
    """
    done = run_script(module, folder, **flags)
    assert done.returncode == 1, done.stderr[-3000:]
    assert "Traceback" not in done.stderr
    return done.stderr.strip().splitlines()[-1]


@contextlib.contextmanager
def defined(module):
    """Defines the flags of a script, a module, in a context: dict of name -> absl's flag."""
    known = set(absl.flags.FLAGS)
    try:
        module.COMMAND.define_flags()
        yield {name: absl.flags.FLAGS[name] for name in set(absl.flags.FLAGS) - known}
    finally:
        for name in set(absl.flags.FLAGS) - known:
            delattr(absl.flags.FLAGS, name)


@contextlib.contextmanager
def parsed(name, **flags):
    """Parses the flags of a script in this process; yields its Command.

    Raises:
      absl.flags.Error: If a flag is unknown or invalid.
    """
    module = importlib.import_module(name)
    with defined(module):
        try:
            absl.flags.FLAGS(command(name, **flags)[2:])
            yield module.COMMAND
        finally:
            absl.flags.FLAGS.unparse_flags()


def resolve(module, **flags):
    """Returns the settings of a script for these flags, without starting a process.

    Raises:
      InputError: As the script does.
    """
    with parsed(module, **flags) as script:
        return script.resolve()


def run_here(module, **flags):
    """Runs a script in this process, in the current directory; raises InputError as it does."""
    with parsed(module, **flags) as script:
        script.main([module])


def run_main(module, **flags):
    """Runs a script in this process as a separate process would; returns its status.

    This includes the handling of errors.
    """
    known = set(absl.flags.FLAGS)
    try:
        with mock.patch.object(sys, "argv", command(module, **flags)[2:]):
            importlib.import_module(module).COMMAND.run()
    except SystemExit as end:
        return end.code or 0
    finally:
        for name in set(absl.flags.FLAGS) - known:
            delattr(absl.flags.FLAGS, name)
        absl.flags.FLAGS.unparse_flags()
    return 0


def run(command_line, folder=None, text="", environment=None):
    """Runs a command line to its end; returns the CompletedProcess. Args: see Process."""
    with Process(command_line, folder, text, environment) as process:
        output, errors = process.communicate(SECONDS)
        return subprocess.CompletedProcess(command_line, process.returncode, output, errors)


def kill_when(command_line, folder, is_time, how=signal.SIGKILL):
    """Starts a command line and sends it a signal as soon as `is_time()`.

    Returns its status and standard error.
    """
    deadline = time.monotonic() + SECONDS
    with Process(command_line, folder) as process:
        while not is_time():
            assert process.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.002)
        process.send_signal(how)
        _, errors = process.communicate()
        return process.returncode, errors


def wait_until(is_time):
    """Waits until `is_time()`."""
    deadline = time.monotonic() + SECONDS
    while not is_time():
        assert time.monotonic() < deadline
        time.sleep(0.05)


class Process:
    """A running script, forked by the server.

    It has the part of the interface of subprocess.Popen that tests need. As a context manager, it
    kills the script at the end. Standard output and standard error are files, so that the script
    never waits for a reader.

    Args:
      command_line: List from `command`.
      folder: Working directory. If None, that of this process.
      text: str or bytes. Standard input.
      environment: Dict of variables, in addition to those of this process.
    """

    def __init__(self, command_line, folder=None, text="", environment=None):
        assert command_line[:2] == [sys.executable, "-m"], command_line
        self.args = command_line
        self.returncode = None
        self._streams = tempfile.TemporaryDirectory()
        streams = [pathlib.Path(self._streams.name, name) for name in ("input", "output", "errors")]
        for path in streams:
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
            text = ""
        self._process = SERVER.Process(
            target=_become,
            args=(
                command_line[2:],
                os.path.abspath(folder or os.curdir),
                {**os.environ, **(environment or {})},
                streams,
            ),
        )
        self._process.start()
        self.pid = self._process.pid

    def poll(self):
        """Returns the exit status, or minus the number of a signal that ended the script.

        Returns None while the script runs.
        """
        if self.returncode is None:
            self.returncode = self._process.exitcode
        return self.returncode

    def wait(self, timeout=None):
        """Waits for the exit status; raises subprocess.TimeoutExpired after `timeout` seconds."""
        self._process.join(timeout)
        if self.poll() is None:
            raise subprocess.TimeoutExpired(self.args, timeout)
        return self.returncode

    def communicate(self, timeout=None):
        """Waits; returns the texts of standard output and standard error."""
        self.wait(timeout)
        return tuple(
            pathlib.Path(self._streams.name, name).read_text() for name in ("output", "errors")
        )

    def send_signal(self, number):
        """Sends a signal to the script, if it is running."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        """Kills the script, if it is running."""
        self.send_signal(signal.SIGKILL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        self.wait()
        self._streams.cleanup()


def _become(arguments, folder, environment, streams):
    """Turns a process of the server into `python -m`, followed by `arguments`."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for target, path in enumerate(streams):
        file = os.open(path, os.O_RDWR | os.O_APPEND)
        os.dup2(file, target)
        os.close(file)
    # multiprocessing has opened another file.
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    os.chdir(folder)
    sys.path[0] = multiprocessing.process.ORIGINAL_DIR = folder
    sys.argv[1:] = arguments[1:]
    tempfile.tempdir = None  # A library may have looked for it.
    random.seed()
    np.random.seed()
    multiprocessing.set_start_method(None, force=True)
    gc.set_threshold(*COLLECTION)
    importlib.invalidate_caches()
    try:
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    finally:
        atexit._run_exitfuncs()  # multiprocessing omits them.


def _end_with_parent():
    multiprocessing.parent_process().join()
    os.kill(os.getpid(), signal.SIGKILL)
