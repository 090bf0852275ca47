"""The ends of a script: Ctrl-C, SIGTERM, and standard output that is full or that nobody reads."""

import contextlib
import io
import os
import select
import signal
import sys

from bert_tf.notes import write_line

INTERRUPTED = 130  # Status in a shell of a process that Ctrl-C ended.
TERMINATED = 143  # Status in a shell of a process that SIGTERM ended.


_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT_FOLDERS = ("data_prep", "run", "run/demo")  # Below the root of this project.
COMMAND_NAME = "bert-tf"


class Termination(BaseException):
    """SIGTERM. Like KeyboardInterrupt, it is not an error that a program handles."""


ENDINGS = {
    KeyboardInterrupt: (INTERRUPTED, "interrupted"),
    Termination: (TERMINATED, "ended by SIGTERM"),
}
# Signal -> the exception, and the handler that raising it replaces.
_SIGNALS = {
    signal.SIGINT: (KeyboardInterrupt, signal.default_int_handler),
    signal.SIGTERM: (Termination, signal.SIG_DFL),
}


def report_early_interruption():
    """Makes Ctrl-C end a script with one line and status INTERRUPTED while it is imported.

    Only changes a process whose main module is a script of this project: other programs that import
    these modules have their own report of exceptions.
    """
    main_file = os.path.abspath(getattr(sys.modules["__main__"], "__file__", None) or "")
    folders = [os.path.join(_ROOT, folder) for folder in SCRIPT_FOLDERS]
    if os.path.dirname(main_file) not in folders and os.path.basename(main_file) != COMMAND_NAME:
        return
    report = sys.excepthook

    def report_briefly(error_class, error, traceback):
        if not issubclass(error_class, KeyboardInterrupt):
            return report(error_class, error, traceback)
        write_line(f"\n{os.path.basename(main_file)}: {ENDINGS[error_class][1]}")
        sys.exit(INTERRUPTED)

    sys.excepthook = report_briefly


@contextlib.contextmanager
def raise_on_signals():
    """Makes SIGINT and SIGTERM raise KeyboardInterrupt and Termination within a context.

    A signal that the process already handles keeps its handler. A second signal ends the process at
    once, without cleanup. Python handles a signal after the current call into a library:
    TensorFlow's gs:// client, for example, repeats a failing request for minutes. SIGKILL always
    ends a process, and the next one removes what it left.

    An error that is raised after a signal follows from it, since libraries replace exceptions:
    TensorFlow does while it reports its own error. The context raises the signal's exception
    instead.
    """
    received = []
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    replaced = [number for number, (_, default) in _SIGNALS.items() if before[number] is default]

    def receive(number, frame):
        del frame
        for other in replaced:
            signal.signal(other, signal.SIG_DFL)
        received.append(_SIGNALS[number][0])
        raise received[-1]

    for number in replaced:
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


def find_output_error(error=None):
    """Writes the remaining buffer of standard output.

    Args:
      error: Exception that ends the script, None if there is none.

    Returns:
      OSError of standard output, None if everything has been written. After an error, standard
      output is the null device, since Python writes the remaining buffer at exit, and would report
      the error again.
    """
    found = error if isinstance(error, BrokenPipeError) and _is_broken_pipe() else None
    try:
        sys.stdout.flush()
    except OSError as flush_error:
        found = flush_error
    if found is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return found


def _is_broken_pipe():
    """Returns whether standard output is a pipe that nobody reads."""
    poll = select.poll()
    try:
        poll.register(sys.stdout.fileno(), 0)
    except io.UnsupportedOperation:  # not a file of the system
        return False
    return any(event & select.POLLERR for _, event in poll.poll(0))
