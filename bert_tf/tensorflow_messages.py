"""Hides the messages of TensorFlow's import. Does not import TensorFlow.

TensorFlow 2.21 writes informational messages to standard error while its libraries are loaded,
before it reads TF_CPP_MIN_LOG_LEVEL. TensorFlow 2.20, and 2.21 once it is imported, obey it.
"""

import contextlib
import importlib.abc
import importlib.util
import os
import re
import sys
import tempfile

LEVEL_VARIABLE = "TF_CPP_MIN_LOG_LEVEL"
SEVERITIES = "IWEF"  # By level: INFO, WARNING, ERROR, FATAL.
# A message: its severity and date, then time, thread, source, and text.
_MESSAGE = re.compile(rf"([{SEVERITIES}])\d{{4}} \d\d:\d\d:")
_ANNOUNCEMENT = "WARNING: All log messages before absl::InitializeLog() is called"
_STANDARD_ERROR = 2  # The file descriptor, to which C++ code writes.


class _ImportObserver(importlib.abc.MetaPathFinder):
    """Hides the messages below a level, int, of the next import of TensorFlow."""

    def __init__(self, level):
        self._level = level

    def find_spec(self, fullname, path, target=None):
        """Returns the specification of TensorFlow, whose execution is quiet; otherwise None."""
        if fullname != "tensorflow":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None:
            execute = spec.loader.exec_module

            def execute_quietly(module):
                spec.loader.exec_module = execute
                with _hide(self._level):
                    execute(module)

            spec.loader.exec_module = execute_quietly
        return spec


def hide_at_import():
    """Hides messages below TF_CPP_MIN_LOG_LEVEL when this process imports TensorFlow.

    Other lines on standard error follow after the import. If the import ends the process, for
    example on a CPU without AVX instructions, its messages are lost; level 0 shows them.
    """
    level = os.environ.get(LEVEL_VARIABLE, "0")
    is_observed = any(isinstance(finder, _ImportObserver) for finder in sys.meta_path)
    if level in ("1", "2", "3") and "tensorflow" not in sys.modules and not is_observed:
        sys.meta_path.insert(0, _ImportObserver(int(level)))


@contextlib.contextmanager
def _hide(level):
    """Collects the lines of standard error, and writes the ones to keep at the end."""
    try:
        collected = tempfile.TemporaryFile()  # noqa: SIM115 (the import stands outside of `try`)
    except OSError:  # No directory for temporary files can be written.
        yield
        return
    with collected:
        sys.stderr.flush()
        terminal = os.dup(_STANDARD_ERROR)
        os.dup2(collected.fileno(), _STANDARD_ERROR)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(terminal, _STANDARD_ERROR)
            os.close(terminal)
            collected.seek(0)
            text = collected.read().decode(errors="replace")
            sys.stderr.write("".join(select_lines(text.splitlines(keepends=True), level)))
            sys.stderr.flush()


def select_lines(lines, level):
    """Yields the lines without TensorFlow's messages below a level.

    Args:
      lines: Iterable of str. Lines of standard error.
      level: int. Index in SEVERITIES of the lowest severity to keep.

    Yields:
      str. Lines of messages to keep, and all other lines.
    """
    for line in lines:
        message = _MESSAGE.match(line)
        is_hidden = message is not None and SEVERITIES.index(message[1]) < level
        if not is_hidden and not line.startswith(_ANNOUNCEMENT):
            yield line
