"""Runs the project's scripts as a user does, in processes of their own.

They are forked by a server (`tests.fork_server`) that has imported TensorFlow for all of them. Where the start of a
process is itself the subject, or where two processes must agree although Python hashes strings differently in each,
`run_anew` starts Python.
"""

import atexit
import contextlib
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from tests import fork_server

ROOT = pathlib.Path(__file__).parent.parent
SECONDS = 300  # for a script at toy size


def run_script(module, folder=None, **flags):
    """Runs `python -m module --name=value ...` in `folder`; returns the CompletedProcess, output as text."""
    return run(command(module, **flags), folder)


def run_anew(module, folder=None, **flags):
    """Does what `run_script` does with a new Python interpreter."""
    return subprocess.run(command(module, **flags), cwd=folder, capture_output=True, text=True, check=False,
                          timeout=SECONDS)


def command(module, **flags):
    """The command line of a script; a flag with the value None is left out, a tuple gives it several times."""
    arguments = [f"--{name}={each}" for name, value in flags.items() if value is not None
                 for each in (value if isinstance(value, tuple) else (value,))]
    return [sys.executable, "-m", module, *arguments]


def succeed(module, folder=None, **flags):
    """Runs a script that must succeed; returns what it printed on standard output."""
    done = run_script(module, folder, **flags)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def fail(module, folder=None, **flags):
    """Runs a script that must refuse its input; returns the one line that it prints on standard error."""
    done = run_script(module, folder, **flags)
    assert done.returncode == 1, done.stderr[-3000:]
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr[-3000:]
    return lines[0]


def last_error(module, folder=None, **flags):
    """Runs a script that must refuse its input after some progress was shown; returns its last line of error."""
    done = run_script(module, folder, **flags)
    assert done.returncode == 1, done.stderr[-3000:]
    assert "Traceback" not in done.stderr
    return done.stderr.strip().splitlines()[-1]


def run(command_line, folder=None, text=""):
    """Runs what `command` gives, with `text` as its standard input, to its end; returns the CompletedProcess."""
    with Process(command_line, folder, text) as process:
        output, errors = process.communicate(SECONDS)
        return subprocess.CompletedProcess(command_line, process.returncode, output, errors)


def kill_when(command_line, folder, is_time, how=signal.SIGKILL):
    """Starts what `command` gives and sends it a signal as soon as `is_time()`; returns its status and its errors."""
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
    """The path of the fork server's socket; starts one unless the environment names one."""
    if fork_server.ADDRESS not in os.environ:
        os.environ[fork_server.ADDRESS] = start_server()
    return os.environ[fork_server.ADDRESS]


def start_server(within=()):
    """Starts a fork server that lives as long as this process; returns the path of its socket.

    Args:
      within: the beginning of a command that runs the command that follows, such as env's.
    """
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "fork_server")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        server = subprocess.Popen([*within, sys.executable, "-m", "tests.fork_server", str(listener.fileno())],
                                  cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                  pass_fds=[listener.fileno()])
    atexit.register(shutil.rmtree, folder)
    atexit.register(server.communicate)  # which ends its standard input, and so the server
    return path


class Process:
    """A script that runs, forked by the server: what subprocess.Popen is, as far as tests need it.

    As a context manager it kills the script at the end, if it has not ended. Standard output and error go to files,
    so that a script never waits for its reader.
    """

    def __init__(self, command_line, folder=None, text="", environment=None):
        """Starts it.

        Args:
          command_line: what `command` gives.
          folder: to run it in; None is this process's.
          text: its standard input.
          environment: dict of variables to set; the others are this process's.
        """
        python, *arguments = command_line
        assert python == sys.executable, command_line
        self.args, self.returncode, self._received = command_line, None, b""
        self._open = contextlib.ExitStack()
        self._server = self._open.enter_context(socket.socket(socket.AF_UNIX))
        address = server_address()
        request = fork_server.request(arguments, folder or os.curdir, {**os.environ, **(environment or {})})
        with tempfile.TemporaryFile() as given:
            given.write(text.encode())
            given.seek(0)
            self._output = self._open.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 (`__exit__` closes it)
            self._errors = self._open.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
            fork_server.ask(self._server, address, request, (given, self._output, self._errors))
        self.pid = self._read_number(None)

    def poll(self):
        """The exit status, minus the signal's number if one ended it; None while the script runs."""
        if self.returncode is None:
            self.returncode = self._read_number(0)
        return self.returncode

    def wait(self, timeout=None):
        """Waits for the exit status; subprocess.TimeoutExpired after `timeout` seconds."""
        if self.returncode is None:
            self.returncode = self._read_number(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(self.args, timeout)
        return self.returncode

    def communicate(self, timeout=None):
        """Waits; returns the texts of standard output and standard error."""
        self.wait(timeout)
        self._output.seek(0)
        self._errors.seek(0)
        return self._output.read().decode(), self._errors.read().decode()

    def send_signal(self, number):
        """Sends a signal to the script, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        """Kills the script, if it still runs."""
        self.send_signal(signal.SIGKILL)

    def _read_number(self, timeout):
        """The next number that the server sends; None if it sends none within `timeout` seconds."""
        while b"\n" not in self._received:
            if not select.select([self._server], [], [], timeout)[0]:
                return None
            part = self._server.recv(64)
            assert part, "the fork server has ended"
            self._received += part
        number, _, self._received = self._received.partition(b"\n")
        return int(number)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        self.wait()
        self._open.close()
