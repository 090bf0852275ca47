"""Ctrl-C and SIGTERM of a script, from its first import to its end.

Importing this module changes nothing, except in the process of a script of this project: there, Ctrl-C during the
imports that follow prints one line instead of a traceback.
"""

import contextlib
import os
import pathlib
import signal
import sys
import threading
import time

INTERRUPTED = 130  # Status in a shell of a process that Ctrl-C ended.
TERMINATED = 143  # Status in a shell of a process that SIGTERM ended.


class Termination(BaseException):
    """SIGTERM. Like KeyboardInterrupt, it is not an error that a program handles."""


ENDINGS = {KeyboardInterrupt: (INTERRUPTED, "interrupted"), Termination: (TERMINATED, "ended by SIGTERM")}
_SIGNALS = {signal.SIGINT: (KeyboardInterrupt, signal.default_int_handler),
            signal.SIGTERM: (Termination, signal.SIG_DFL)}  # the exception, and the handler that raising it replaces
PATIENCE = 10  # Seconds after which a process ends if a library has not returned.


@contextlib.contextmanager
def raise_on_signals():
    """Makes SIGINT and SIGTERM raise KeyboardInterrupt and Termination, within a context, unless handled.

    A second SIGTERM ends the process at once. So does a signal that is not handled within PATIENCE seconds: Python
    handles it after the current call into a library, and TensorFlow's gs:// client repeats a failing request for
    minutes. An error that is raised after a signal follows from it, since libraries replace exceptions: TensorFlow does
    while it reports its own error. The context raises the signal's exception instead.
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
        with _watch_signals(receive, received):
            yield
    except Exception as error:
        if received:
            raise received[0] from error
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _watch_signals(handler, received):
    """Ends the process if, within a context, a signal of `handler` is not in `received` after PATIENCE seconds."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)

    def is_unhandled(number):
        return number in _SIGNALS and not received and signal.getsignal(number) is handler

    def watch():
        while number := os.read(reader, 1)[0]:
            deadline = time.monotonic() + PATIENCE
            while is_unhandled(number):
                if time.monotonic() > deadline:
                    status, message = ENDINGS[_SIGNALS[number][0]]
                    print(f"\n{os.path.basename(sys.argv[0])}: {message}", file=sys.stderr, flush=True)
                    os._exit(status)
                time.sleep(0.1)
        os.close(reader)

    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)  # Python writes there when a signal arrives
    os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))  # A forked process has no such thread.
    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.write(writer, b"\0")  # ends the thread
        os.close(writer)


def is_script(main):
    """Returns whether the module `__main__` of a process is a script of this project."""
    path = pathlib.Path(getattr(main, "__file__", None) or "")
    return bool({"run", "data_prep"} & {*path.parts[-3:-1]}) and pathlib.Path(__file__).parents[2] in (
        path.resolve().parents)


def _hook(kind, error, traceback, before=sys.excepthook):
    """Prints the traceback of an exception that ends Python; for Ctrl-C, one line. A shell then reports INTERRUPTED."""
    if issubclass(kind, KeyboardInterrupt):
        print(f"\n{os.path.basename(sys.argv[0])}: {ENDINGS[kind][1]}", file=sys.stderr)
    else:
        before(kind, error, traceback)


if is_script(sys.modules["__main__"]):
    sys.excepthook = _hook
