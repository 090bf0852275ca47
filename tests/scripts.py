"""Runs the project's scripts in separate processes, as a user does, or in this process.

A fork server that has imported TensorFlow (`tests.fork_server`) starts the processes. `run_anew` starts Python instead,
for tests of the start of a process, and of two processes that must agree although Python hashes strings differently in
each.
"""

import atexit
import contextlib
import importlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from unittest import mock

import absl.flags

from tests import fork_server

ROOT = pathlib.Path(__file__).parent.parent
SECONDS = 300  # Limit for a script with a toy model.


def run_script(module, folder=None, **flags):
    """Runs `python -m module --name=value ...` in `folder`; returns the CompletedProcess, output as text."""
    return run(command(module, **flags), folder)


def run_anew(module, folder=None, **flags):
    """Does what `run_script` does with a new Python interpreter."""
    return subprocess.run(command(module, **flags), cwd=folder, capture_output=True, text=True, check=False,
                          timeout=SECONDS)


def command(module, **flags):
    """Returns the command line of a script; omits flags with the value None, and repeats those with a tuple."""
    arguments = [f"--{name}={each}" for name, value in flags.items() if value is not None
                 for each in (value if isinstance(value, tuple) else (value,))]
    return [sys.executable, "-m", module, *arguments]


def succeed(module, folder=None, **flags):
    """Runs a script that must succeed; returns what it printed on standard output."""
    done = run_script(module, folder, **flags)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def fail(module, folder=None, **flags):
    """Runs a script that must reject its input; returns the one line that it prints on standard error."""
    done = run_script(module, folder, **flags)
    assert done.returncode == 1, done.stderr[-3000:]
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr[-3000:]
    return lines[0]


@contextlib.contextmanager
def defined(module):
    """Defines the flags of a script, a module, until the end; yields a dict of name -> absl's flag."""
    known = set(absl.flags.FLAGS)
    try:
        getattr(module, "COMMAND", module).define_flags()
        yield {name: absl.flags.FLAGS[name] for name in set(absl.flags.FLAGS) - known}
    finally:
        for name in set(absl.flags.FLAGS) - known:
            delattr(absl.flags.FLAGS, name)


@contextlib.contextmanager
def parsed(name, **flags):
    """Parses the flags of a script in this process; yields its Command.

    Raises absl.flags.Error for an unknown or invalid flag.
    """
    module = importlib.import_module(name)
    with defined(module):
        try:
            absl.flags.FLAGS(command(name, **flags)[2:])
            yield module.COMMAND
        finally:
            absl.flags.FLAGS.unparse_flags()


def resolve(module, **flags):
    """Returns the settings of a script for these flags, without starting a process; raises InputError as it does."""
    with parsed(module, **flags) as script:
        return script.resolve()


def run_here(module, **flags):
    """Runs a script in this process, in the current directory; raises InputError as it does."""
    with parsed(module, **flags) as script:
        script.main([module])


def run_main(module, **flags):
    """Runs a script in this process as a separate process would, with its handling of errors; returns its status."""
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


def last_error(module, folder=None, **flags):
    """Runs a script that must reject its input after it printed progress; returns the last line of standard error."""
    done = run_script(module, folder, **flags)
    assert done.returncode == 1, done.stderr[-3000:]
    assert "Traceback" not in done.stderr
    return done.stderr.strip().splitlines()[-1]


def run(command_line, folder=None, text="", environment=None):
    """Runs a command line to its end; returns the CompletedProcess. Args: see Process."""
    with Process(command_line, folder, text, environment) as process:
        output, errors = process.communicate(SECONDS)
        return subprocess.CompletedProcess(command_line, process.returncode, output, errors)


def kill_when(command_line, folder, is_time, how=signal.SIGKILL):
    """Starts a command line and sends it a signal as soon as `is_time()`; returns its status and standard error."""
    deadline = time.monotonic() + SECONDS
    with Process(command_line, folder) as process:
        while not is_time():
            assert process.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.002)
        process.send_signal(how)
        _, errors = process.communicate()
        return process.returncode, errors


def server_address():
    """Returns the path of the fork server's socket; starts a server if the environment does not name one.

    The server ends with this process.
    """
    if fork_server.ADDRESS not in os.environ:
        folder = tempfile.mkdtemp()
        atexit.register(shutil.rmtree, folder)
        path = os.path.join(folder, "fork_server")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            server = subprocess.Popen([sys.executable, "-m", "tests.fork_server", str(listener.fileno())], cwd=ROOT,
                                      stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, pass_fds=[listener.fileno()])
        atexit.register(server.communicate)  # Closes its standard input, which ends the server.
        os.environ[fork_server.ADDRESS] = path
    return os.environ[fork_server.ADDRESS]


class Process:
    """A running script, forked by the server. Has the part of subprocess.Popen's interface that tests need.

    As a context manager, it kills the script at the end. Standard output and standard error are files, so that the
    script never waits for a reader.

    Args:
      command_line: List from `command`.
      folder: Working directory. If None, that of this process.
      text: str or bytes. Standard input.
      environment: Dict of variables, in addition to those of this process.
    """

    def __init__(self, command_line, folder=None, text="", environment=None):
        python, *arguments = command_line
        assert python == sys.executable, command_line
        self.args, self.returncode = command_line, None
        self._resources = contextlib.ExitStack()
        address = server_address()  # Sets a variable of the environment.
        request = fork_server.make_request(arguments, folder or os.curdir, {**os.environ, **(environment or {})})
        with tempfile.TemporaryFile() as standard_input:
            standard_input.write(text if isinstance(text, bytes) else text.encode())
            standard_input.seek(0)
            self._output = self._resources.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 (see __exit__)
            self._errors = self._resources.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
            files = [file.fileno() for file in (standard_input, self._output, self._errors)]
            self._server = self._resources.enter_context(fork_server.send_request(address, request, files))
        self.pid = self._server.recv()

    def poll(self):
        """Returns the exit status, or minus the number of a signal that ended the script; None if it is running."""
        if self.returncode is None and self._server.poll():
            self.returncode = self._server.recv()
        return self.returncode

    def wait(self, timeout=None):
        """Waits for the exit status; raises subprocess.TimeoutExpired after `timeout` seconds."""
        if self.returncode is None and not self._server.poll(timeout):
            raise subprocess.TimeoutExpired(self.args, timeout)
        return self.poll()

    def communicate(self, timeout=None):
        """Waits; returns the texts of standard output and standard error."""
        self.wait(timeout)
        for file in (self._output, self._errors):
            file.seek(0)
        return self._output.read().decode(), self._errors.read().decode()

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
        self._resources.close()
