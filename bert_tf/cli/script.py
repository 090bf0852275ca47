"""How every script starts and ends: quiet TensorFlow, one line and status 1 for a mistake of the user's.

A script that anyone runs by hand defines its flags, checks them and calls the library from `main()`:

    if __name__ == "__main__":
        script.run(main, define_flags)

TensorFlow takes seconds to import, so scripts import the job that needs it inside `main()`: `--help` and a misspelt
flag answer at once.
"""

import os
import re
import sys

from absl import app, flags, logging

from bert_tf.errors import InputError

flags.disclaim_key_flags()  # a flag defined here belongs, in --help, to the script that calls

MISTAKE = 1  # exit status of an input that cannot be used
FAULT = 70  # of a fault of this project: EX_SOFTWARE of sysexits.h
INTERRUPTED = 130  # what a shell reports for a process ended by Ctrl-C

# TensorFlow's errors of files, networks and memory, which the user can do something about.
ENVIRONMENT_ERRORS = ("NotFoundError", "PermissionDeniedError", "AlreadyExistsError", "DataLossError",
                      "FailedPreconditionError", "ResourceExhaustedError", "UnavailableError", "UnauthenticatedError",
                      "DeadlineExceededError", "AbortedError", "CancelledError")


def run(main, define_flags, takes_arguments=False):
    """Defines a script's flags, runs its `main(argv)` and exits.

    Flags are defined here, not when the script is imported, so that a test can import several scripts. Arguments
    that are not flags are refused, unless `takes_arguments`; argv[1:] has them.

    An unknown flag or a flag value that does not parse, an InputError, and a file that cannot be read or written, by
    Python or TensorFlow, end the process with one line on standard error and status MISTAKE. Any other exception is a
    fault of this project: its traceback, a line that asks to report it, and status FAULT. Ctrl-C gives INTERRUPTED.
    """
    define_flags()
    flags.DEFINE_bool("traceback", False, "Show the Python traceback of a mistake too, not its one line alone.")
    _quieten_tensorflow()

    def guarded(argv):
        if len(argv) > 1 and not takes_arguments:
            _fail(f"unexpected argument {argv[1]!r}: flags are written --name=value")
        try:
            return main(argv)
        except KeyboardInterrupt:
            print(f"\n{_script_name()}: interrupted", file=sys.stderr)
            sys.exit(INTERRUPTED)
        except Exception as error:
            is_mistake = _is_mistake(error)
            if flags.FLAGS.traceback or not is_mistake:
                sys.excepthook(type(error), error, error.__traceback__)
            if is_mistake:
                return _fail(_one_line(error))
            print(f"{_script_name()}: this is a fault of bert_tf, not of your input: please report it with the command "
                  "and the lines above", file=sys.stderr)
            sys.exit(FAULT)

    app.run(guarded, flags_parser=_parse_flags)


def with_flags(text):
    """A message of the library's with the arguments that it names, in backquotes, as this script's flags."""
    return re.sub(r"`(\w+)`", lambda match: f"--{match[1]}" if match[1] in flags.FLAGS else match[0], text)


def _quieten_tensorflow():
    """Hides what TensorFlow says of its own accord; it must come before TensorFlow is imported.

    Level 3 also hides errors, of which a machine without a GPU shows one ("failed call to cuInit"); where there is
    a GPU, an error may say why it is not used.
    """
    has_gpu = os.path.exists("/dev/nvidiactl")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2" if has_gpu else "3")
    logging.set_verbosity(logging.ERROR)


def _parse_flags(argv):
    try:
        return flags.FLAGS(argv)
    except flags.Error as error:
        return _fail(f"{_one_line(error)} (see --help)")


def _is_mistake(error):
    """Whether an error tells of a user's input, a file that cannot be read or written, or a machine's limits."""
    if isinstance(error, (InputError, OSError)):
        return True
    tensorflow = sys.modules.get("tensorflow")
    return tensorflow is not None and isinstance(
        error, tuple(getattr(tensorflow.errors, name) for name in ENVIRONMENT_ERRORS))


def _one_line(error):
    if hasattr(error, "node_def"):  # TensorFlow's: where in the graph it was raised is of no use to a user
        return error.message.splitlines()[0]
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return with_flags(" ".join(str(error).split()))


def _script_name():
    return os.path.basename(sys.argv[0])


def _fail(message):
    print(f"{_script_name()}: {message}", file=sys.stderr)
    sys.exit(MISTAKE)
