"""Limits the time of a test: a test that hangs fails, and the others run.

A signal ends a test at the limit `timeout` of pyproject.toml. It is ten minutes, because correct
tests took more than one when the load of two cores was 10. If C++ code holds the interpreter's
lock, for example at the end of a tf.data iterator, Python does not handle the signal. After another
SECONDS_TO_FAIL, the stacks of all threads are printed and the process ends; pytest-xdist then
reports the test as failed and replaces the process.
"""

import faulthandler
import os

SECONDS_TO_FAIL = 60
_standard_error = os.dup(2)  # pytest captures 2, and pytest-xdist hides the output of a worker.


def pytest_timeout_set_timer(settings):
    """Sets the second timer; None lets pytest-timeout set its own."""
    seconds = settings.timeout + SECONDS_TO_FAIL
    faulthandler.dump_traceback_later(seconds, exit=True, file=_standard_error)


def pytest_timeout_cancel_timer():
    """Ends the second timer; None lets pytest-timeout end its own."""
    faulthandler.cancel_dump_traceback_later()
