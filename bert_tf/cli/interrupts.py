"""Ctrl-C and SIGTERM of a script, from its first import to its end.

Scripts import this module before all others, since Ctrl-C during an import would print a traceback.
"""

import contextlib
import os
import signal
import sys

INTERRUPTED = 130  # Status in a shell of a process that Ctrl-C ended.
TERMINATED = 143  # Status in a shell of a process that SIGTERM ended.


class Terminated(BaseException):
    """SIGTERM. Like KeyboardInterrupt, it is not an error that a program handles."""


ENDINGS = {KeyboardInterrupt: (INTERRUPTED, "interrupted"), Terminated: (TERMINATED, "ended by SIGTERM")}
_SIGNALS = {signal.SIGINT: (KeyboardInterrupt, signal.default_int_handler),
            signal.SIGTERM: (Terminated, signal.SIG_DFL)}  # the exception, and the handler that raising it replaces


@contextlib.contextmanager
def raised():
    """Makes SIGINT and SIGTERM raise KeyboardInterrupt and Terminated, within a context, unless handled.

    A second SIGTERM ends the process at once. An error that is raised after a signal follows from it, since libraries
    replace exceptions: TensorFlow does while it reports its own error. The context raises the signal's exception
    instead.
    """
    received = []

    def receive(number, frame):
        del frame
        if number == signal.SIGTERM:
            signal.signal(number, signal.SIG_DFL)
        received.append(_SIGNALS[number][0])
        raise received[-1]

    before = {number: signal.getsignal(number) for number in _SIGNALS}
    for number, (_, default) in _SIGNALS.items():
        if before[number] is default:
            signal.signal(number, receive)
    try:
        yield
    except Exception as error:
        if received:
            raise received[0] from error
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _hook(kind, error, traceback, before=sys.excepthook):
    """Prints the traceback of an exception that ends Python; for Ctrl-C, one line. A shell then reports INTERRUPTED."""
    if issubclass(kind, KeyboardInterrupt):
        print(f"\n{os.path.basename(sys.argv[0])}: {ENDINGS[kind][1]}", file=sys.stderr)
    else:
        before(kind, error, traceback)


sys.excepthook = _hook
