"""A peer in a child process.

    python -m benchmarks.peer_process MODULE FILE_DESCRIPTOR

In one process, libraries such as PyTorch and TensorFlow can crash. `PeerProcess` starts this
command, which creates an object of the class `Peer` of MODULE. It then calls the methods that it
receives over a pipe, one at a time, and sends each result with the seconds that it took, without
those of the pipe.
"""

import importlib
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import re
import subprocess
import sys
import time
import traceback

ROOT = str(pathlib.Path(__file__).parent.parent)


class Seconds(float):
    """A duration that a peer measured itself."""


class PeerError(Exception):
    """A failure in a peer's process. The message is one line."""


class PeerProcess:
    """An object of the class `Peer` of a module, created with `arguments` in a child process.

    Args:
      module: str. Name of the module.
      *arguments: Arguments of the class.
      python: str. Path of the Python that runs it.
      environment: Dict of environment variables to add, or None.

    Raises:
      PeerError: If it cannot be created.
    """

    def __init__(self, module, *arguments, python=sys.executable, environment=None):
        self._connection, theirs = multiprocessing.Pipe()
        path = os.pathsep.join(filter(None, (ROOT, os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(
            [python, "-m", "benchmarks.peer_process", module, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path, **(environment or {})},
        )
        theirs.close()  # Otherwise, the end of the child process would not close the pipe.
        try:
            self.call("__init__", *arguments)
        except PeerError:
            self.close()
            raise

    def call(self, method, *arguments):
        """Returns the result of a method; raises PeerError if it fails."""
        return self._run(method, arguments)[0]

    def time(self, method, *arguments):
        """Returns the `Seconds` that a method takes; raises PeerError if it fails."""
        return self._run(method, arguments)[1]

    def _run(self, method, arguments):
        try:
            self._connection.send((method, arguments))
            succeeded, result, seconds = self._connection.recv()
        except (EOFError, ConnectionError) as error:
            raise PeerError(f"its process ended with status {self._process.wait()}") from error
        if not succeeded:
            raise PeerError(result)
        return result, Seconds(seconds)

    def close(self):
        """Ends the process."""
        self._connection.close()
        self._process.kill()
        self._process.wait()


def read_peak_memory():
    """Returns the largest memory of this process, in bytes.

    `resource.getrusage` would return at least the memory of the process that started this one.
    """
    status = pathlib.Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"^VmHWM:\s*(\d+) kB$", status, re.MULTILINE)[1])


def serve(module, connection):
    """Runs the child process: calls methods until the parent process closes the pipe."""
    peer = None
    while True:
        try:
            method, arguments = connection.recv()
        except EOFError:
            return
        try:
            start_time = time.perf_counter()
            if method == "__init__":
                peer = importlib.import_module(module).Peer(*arguments)
                result = None
            else:
                result = getattr(peer, method)(*arguments)
            message = True, result, time.perf_counter() - start_time
        except Exception as error:  # From any library.
            traceback.print_exc()
            message = False, f"{type(error).__name__}: {error}".split("\n")[0], 0
        connection.send(message)


if __name__ == "__main__":
    serve(sys.argv[1], multiprocessing.connection.Connection(int(sys.argv[2])))
