"""Runs the project's scripts as a user does, in processes of their own.

They are forked by a server (`tests.fork_server`) that has imported TensorFlow for all of them; those that are only to
run to their end share a process, one after another (`tests.script_worker`), which costs a quarter less. Where the start
of a process is itself the subject, or where two processes must agree although Python hashes strings differently in
each, `run_anew` starts Python.
"""

import atexit
import contextlib
import importlib
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
from typing import ClassVar

import absl.flags

from tests import fork_server

ROOT = pathlib.Path(__file__).parent.parent
SECONDS = 300  # for a script at toy size
ALONE = ("run.demo",)  # scripts that fork
DEVICE_FLAGS = tuple(f"--{name}" for name in (
    "distribution_strategy", "num_cpu_devices", "num_gpus", "use_tpu", "allow_tf32", "noallow_tf32"))
MOST_IN_A_PROCESS = 40  # whose variables TensorFlow partly keeps


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


def last_error(module, folder=None, **flags):
    """Runs a script that must refuse its input after some progress was shown; returns its last line of error."""
    done = run_script(module, folder, **flags)
    assert done.returncode == 1, done.stderr[-3000:]
    assert "Traceback" not in done.stderr
    return done.stderr.strip().splitlines()[-1]


def run(command_line, folder=None, text="", environment=None):
    """Runs what `command` gives to its end, in a process of its own where that can matter.

    Args:
      command_line, folder, text, environment: see Process.

    Returns:
      CompletedProcess.
    """
    if can_share(command_line, environment):
        return SharedProcess.running().run(command_line, folder, text, environment)
    with Process(command_line, folder, text, environment) as process:
        output, errors = process.communicate(SECONDS)
        return subprocess.CompletedProcess(command_line, process.returncode, output, errors)


def can_share(command_line, environment=None):
    """Whether a script may run in a process that has run others.

    It neither sets up devices nor forks; and TensorFlow's client of Cloud Storage remembers for seconds what it was
    told, though another process may have changed it.
    """
    module, *arguments = command_line[2:]
    return (module.startswith("run.") and module not in ALONE
            and not any(each.startswith(DEVICE_FLAGS) or "gs://" in each for each in arguments)
            and set(environment or {}) <= {"TMPDIR"} and "TF_CONFIG" not in os.environ)


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


class SharedProcess:
    """A process of the fork server's that runs scripts one after another: `tests.script_worker`."""

    _of_server: ClassVar = {}  # address of a fork server -> the one that it has forked last

    @classmethod
    def running(cls):
        """The one of this process's fork server that may run another script; a new one where there is none."""
        address = server_address()
        there = cls._of_server.get(address)
        if there is None or there.left == 0:
            if there:
                there.end()
            there = cls._of_server[address] = cls()
            atexit.register(there.end)
        return there

    def __init__(self):
        self.left = MOST_IN_A_PROCESS
        self._open = contextlib.ExitStack()
        self._server = self._open.enter_context(socket.socket(socket.AF_UNIX))
        self._worker, theirs = socket.socketpair()
        self._open.enter_context(self._worker)
        with theirs, open(os.devnull, "wb") as nowhere:
            request = fork_server.request(["-m", "tests.script_worker"], ROOT, dict(os.environ))
            fork_server.ask(self._server, server_address(), request, (theirs, nowhere, nowhere))

    def end(self):
        """Ends it; as the server does when it finds that nobody is left to be told of its end."""
        self._open.close()

    def run(self, command_line, folder, text, environment):
        """As `scripts.run`."""
        sys.audit("tests.start_process")
        self.left -= 1
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            given.write(text if isinstance(text, bytes) else text.encode())
            given.seek(0)
            request = fork_server.request(command_line[1:], folder or os.curdir, {**os.environ, **(environment or {})})
            fork_server.send(self._worker, request, (given, output, errors))
            status = self._status()
            output.seek(0)
            errors.seek(0)
            return subprocess.CompletedProcess(command_line, status, output.read().decode(), errors.read().decode())

    def _status(self):
        """The exit status of the script; where it has ended its process, that of the process."""
        self._worker.settimeout(SECONDS)
        try:
            answer = self._worker.recv(64)
        except TimeoutError:
            self.left = 0
            raise
        if not answer:
            self.left = 0
            with self._server.makefile() as answers:
                _, answer = answers
        return int(answer)


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
          text: its standard input, str or bytes.
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
            given.write(text if isinstance(text, bytes) else text.encode())
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
