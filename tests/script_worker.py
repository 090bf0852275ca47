"""A process that runs scripts one after another, which costs each a quarter less than a process of its own.

The first script of a process has TensorFlow make its threads, its kernels and whatever else it makes when it is first
asked, and copies much of what it shares with `tests.fork_server`. Scripts whose end does not depend on being alone in a
process run here; `tests.scripts` says which, and starts this one by the fork server. A request comes, as there, with
what is to be standard input, output and error; the answer is the exit status.
"""

import atexit
import contextlib
import gc
import os
import shutil
import signal
import socket
import sys
import traceback

from tests import fork_server


def main():
    """Serves on the socket that is standard input, until it is closed."""
    import tf_keras

    fork_server.switch_autotuning_off()
    nowhere = os.open(os.devnull, os.O_RDWR)
    client = socket.socket(fileno=os.dup(0))
    gc.freeze()
    while True:
        wanted, files = fork_server.receive(client)
        if wanted is None:
            return
        with as_it_was():
            status = run(wanted, files)
        for number in range(3):
            os.dup2(nowhere, number)
        tf_keras.backend.reset_uids()
        fork_server.tell(client, status)


def run(wanted, files):
    """Runs a script to its end; returns its exit status."""
    os.environ.clear()
    os.environ.update(wanted["environment"])
    try:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115 (what an earlier script left of it is gone)
        fork_server.run(wanted, files)
    except SystemExit as ending:
        if isinstance(ending.code, str):
            print(ending.code, file=sys.stderr)
        return ending.code if isinstance(ending.code, int) else int(ending.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


@contextlib.contextmanager
def as_it_was():
    """Within, a script may change what belongs to a process; afterwards it is as it was."""
    from absl import app, flags, logging

    app.define_help_flags()
    known = set(flags.FLAGS)
    main_module, folder, environment = sys.modules["__main__"], os.getcwd(), dict(os.environ)
    path, arguments = list(sys.path), list(sys.argv)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)}
    register, at_exit = atexit.register, []

    def keep(function, *values, **named):
        if function is not shutil.rmtree:  # of an imported library, to be called at the very end
            return register(function, *values, **named)
        at_exit.append((function, values, named))
        return function

    atexit.register = keep
    try:
        yield
    finally:
        atexit.register = register
        for function, values, named in reversed(at_exit):
            function(*values, **named)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for name in set(flags.FLAGS) - known:
            delattr(flags.FLAGS, name)
        for name in known:
            flags.FLAGS[name].unparse()
        flags.FLAGS.unparse_flags()
        logging.set_verbosity(logging.ERROR)
        sys.modules["__main__"], sys.path[:], sys.argv[:] = main_module, path, arguments
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)


if __name__ == "__main__":
    main()
