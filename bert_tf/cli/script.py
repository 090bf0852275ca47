"""How every script starts and ends: quiet TensorFlow, one line and status 1 for a mistake of the user's.

A script is its settings and the module of its job, which has a function `run(settings)`:

    COMMAND = script.Command(FineTuningSettings(), "run.finetuning.job")

    if __name__ == "__main__":
        COMMAND.run()

TensorFlow takes seconds to import, so the job is imported once the settings are checked: `--help` and a misspelt flag
answer at once.
"""

import contextlib
import importlib
import io
import os
import re
import select
import signal
import sys

from absl import app, flags, logging

from bert_tf.cli import flags as setting_flags
from bert_tf.cli import processor, resolution
from bert_tf.errors import InputError
from bert_tf.files import own_temporary_folder
from bert_tf.model_folder.finding import find

flags.disclaim_key_flags()  # a flag defined here belongs, in --help, to the script that calls

MISTAKE = 1  # exit status of an input that cannot be used
FAULT = 70  # of a fault of this project: EX_SOFTWARE of sysexits.h
INTERRUPTED = 130  # what a shell reports for a process ended by Ctrl-C
TERMINATED = 143  # what it reports for one ended by SIGTERM
CLOSED_PIPE = 141  # what it reports for one that wrote to a pipe which nobody reads

# Of TensorFlow's messages: where in the graph something was, and for what there was no memory.
IN_GRAPH = re.compile(r"\{\{.*?\}\}\s*|\s*\[Op:\w+\].*")
ALLOCATION = re.compile(r"OOM when allocating tensor with shape(\[[\d,]*\]) and type (\w+)")

LONGEST_LINE = 300  # characters of a mistake's line, the script's name included

# What TensorFlow's gs:// client reads at once, wherever it begins to read: 64 MB if nothing is said, which is much for
# the first records of each of many files.
REMOTE_BLOCK_MB = 16

FASTER_WITH_ONEDNN = "avx2"  # CPUs with these instructions

# TensorFlow's errors that speak of a user's files, network, devices or memory, and hardly ever of a graph that this
# project built wrongly. Others are a fault until shown otherwise, since a traceback too many does less harm than one
# too few. So is FailedPreconditionError, mostly a variable or table that was not initialised (directories in place of
# files are found before TensorFlow opens them), and CancelledError, which only follows from another error.
ENVIRONMENT_ERRORS = (
    "NotFoundError", "PermissionDeniedError", "AlreadyExistsError", "DataLossError",  # files, damaged ones too
    "UnavailableError", "UnauthenticatedError", "DeadlineExceededError",  # storage and other machines
    "AbortedError",  # another machine of the same run ended
    "ResourceExhaustedError",  # memory, of a GPU above all; a full disk
)


class Command:
    """A script: flags, the settings that they and the files beside a checkpoint give, and the job.

    Args:
      settings: Settings with the defaults of the flags.
      job: name of the module whose `run(settings)` does the work.
      only: names of the settings that are flags; None for all.
      arguments: name of the setting that arguments which are no flags are added to, with commas between them; None if
        there must be none.
    """

    def __init__(self, settings, job, only=None, arguments=None):
        self.settings, self.job, self.only, self._arguments = settings, job, only, arguments

    def run(self):
        """Runs the script as the process that it is in, and exits; see `run`."""
        run(self.main, self.define_flags, takes_arguments=self._arguments is not None)

    def define_flags(self):
        """Defines the flags."""
        setting_flags.define(self.settings, self.only)

    def main(self, argv):
        """Resolves the settings, then imports and runs the job; argv: the arguments that are no flags, after [0]."""
        settings = self.resolve(argv[1:])
        importlib.import_module(self.job).run(settings)

    def resolve(self, arguments=()):
        """The settings that count, of parsed flags; see bert_tf.cli.resolution."""
        for field, _ in self.settings.fields():
            if field.metadata["recipes"] and (recipe := setting_flags.given().get(field.name)):
                print(setting_flags.use_recipe(recipe, field.metadata["recipes"][recipe]))
        settings = setting_flags.read(self.settings)
        if arguments:
            named = settings.values()[self._arguments]
            settings = settings.with_values({self._arguments: ",".join([*arguments, named or ""])})
        found = find(resolution.places_of(settings))
        return resolution.resolve(settings, setting_flags.given(), found, warn)


def announce(text):
    """Prints a message of the library's, names of arguments in it as this script's flags."""
    print(with_flags(str(text)))


def warn(text):
    """Prints a message of the library's on standard error, names of arguments in it as this script's flags."""
    print(with_flags(str(text)), file=sys.stderr)


def run(main, define_flags, takes_arguments=False):
    """Defines a script's flags, runs its `main(argv)` and exits.

    Flags are defined here, not when the script is imported, so that a test can import several scripts. Arguments
    that are not flags are refused, unless `takes_arguments`; argv[1:] has them.

    The exit status of the process:
      MISTAKE, after one line on standard error: a flag that is unknown or does not parse, an InputError, a file that
        cannot be read or written, by Python or TensorFlow, or too little memory.
      FAULT, after a traceback and a line that asks to report it: any other exception.
      INTERRUPTED: Ctrl-C.
      TERMINATED: SIGTERM; what is half-written is removed, as after Ctrl-C. (Training saves a checkpoint first.)
      CLOSED_PIPE, without a word: what reads the output, `head` say, has read enough.
      0: none of these.
    """
    define_flags()
    flags.DEFINE_bool("traceback", False, "Show the Python traceback of a mistake too, not its one line alone.")
    prepare_tensorflow()

    def guarded(argv):
        """Runs `main`, and ends the process as told above."""
        if len(argv) > 1 and not takes_arguments:
            _fail(f"unexpected argument {argv[1]!r}: flags are written --name=value")
        try:
            with _terminable(), own_temporary_folder():
                main(argv)
                sys.stdout.flush()  # here, where an error of it still becomes one line
        except KeyboardInterrupt:
            print(f"\n{_script_name()}: interrupted", file=sys.stderr)
            sys.exit(INTERRUPTED)
        except _Terminated:
            print(f"\n{_script_name()}: ended by SIGTERM", file=sys.stderr)
            sys.exit(TERMINATED)
        except Exception as error:
            _end_after(error)

    try:
        app.run(guarded, flags_parser=_parse_flags)
    except KeyboardInterrupt:  # before `main` began, or after its end
        sys.exit(INTERRUPTED)


class _Terminated(BaseException):
    """SIGTERM; like KeyboardInterrupt no error that anything handles."""


@contextlib.contextmanager
def _terminable():
    """Within, SIGTERM raises _Terminated, unless something else is to happen by it; a second one ends at once."""
    def terminate(number, frame):
        del number, frame
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise _Terminated

    before = signal.getsignal(signal.SIGTERM)
    if before is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _end_after(error):
    """Says what went wrong, and exits with the status for it."""
    if isinstance(error, BrokenPipeError) and _output_is_closed():
        sys.exit(CLOSED_PIPE)
    is_mistake = _is_mistake(error)
    if flags.FLAGS.traceback or not is_mistake:
        sys.excepthook(type(error), error, error.__traceback__)
    if is_mistake:
        _fail(_one_line(error))
    print(f"{_script_name()}: this is a fault of bert_tf, not of your input: please report it with the command and the "
          "lines above", file=sys.stderr)
    sys.exit(FAULT)


def _output_is_closed():
    """Whether standard output is a pipe that nobody reads any more; if so, what is left to be written is dropped."""
    try:
        output = sys.stdout.fileno()
    except OSError:  # it is no file of the system's
        return False
    poll = select.poll()
    poll.register(output, 0)
    if not any(event & select.POLLERR for _, event in poll.poll(0)):
        return False
    os.dup2(os.open(os.devnull, os.O_WRONLY), output)  # Python writes what is left as it exits
    return True


def with_flags(text):
    """A message of the library's with the arguments that it names, in backquotes, as this script's flags."""
    return re.sub(r"`(\w+)`", lambda match: f"--{match[1]}" if match[1] in flags.FLAGS else match[0], text)


def prepare_tensorflow():
    """Hides what TensorFlow says of its own accord, and sets what it computes with and how it reads gs://.

    It reads the environment, in which a user's own settings stay, when it is imported: call this before.

    Of its messages, level 3 also hides errors, of which a machine without a GPU shows one ("failed call to cuInit");
    where there is a GPU, an error may say why it is not used. Its matrix products are Eigen's on CPUs without
    instructions for 8-bit products (AVX512-VNNI and the like), though oneDNN's are faster there too.
    """
    has_gpu = os.path.exists("/dev/nvidiactl")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2" if has_gpu else "3")
    os.environ.setdefault("GCS_READ_CACHE_BLOCK_SIZE_MB", str(REMOTE_BLOCK_MB))
    os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")  # without it, TensorFlow imports Keras 3, which nothing here uses
    if FASTER_WITH_ONEDNN in processor.read()[1]:
        os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    logging.set_verbosity(logging.ERROR)


def _parse_flags(argv):
    try:
        return flags.FLAGS(argv)
    except flags.Error as error:
        _fail(f"{_one_line(error)} (see --help)")


def _is_mistake(error):
    """Whether an error tells of a user's input, a file that cannot be read or written, or a machine's limits."""
    if isinstance(error, io.UnsupportedOperation):  # an OSError, but of a file that our code opened otherwise
        return False
    if isinstance(error, (InputError, OSError, MemoryError)):
        return True
    tensorflow = sys.modules.get("tensorflow")
    return tensorflow is not None and isinstance(
        error, tuple(getattr(tensorflow.errors, name) for name in ENVIRONMENT_ERRORS))


def _one_line(error):
    if hasattr(error, "node_def"):  # TensorFlow's: where in the graph it was raised is of no use to a user
        return _tensorflow_line(error)
    if isinstance(error, OSError) and error.strerror:
        names = [str(name) for name in (error.filename, error.filename2) if name is not None]
        return f"{' -> '.join(names)}: {error.strerror}" if names else error.strerror
    if isinstance(error, MemoryError):
        return f"not enough memory: {error}" if str(error) else "not enough memory"
    return with_flags(" ".join(str(error).split()) or type(error).__name__)


def _tensorflow_line(error):
    line = IN_GRAPH.sub("", (error.message.splitlines() or [""])[0]) or type(error).__name__
    allocation = ALLOCATION.search(line)
    if allocation:
        return (f"not enough memory for numbers of shape {allocation[1]} and type {allocation[2]}: smaller batches, "
                "shorter sequences or a smaller model need less")
    return line


def _script_name():
    return os.path.basename(sys.argv[0])


def _fail(message):
    line = f"{_script_name()}: {message}".replace("\n", "\\n").replace("\r", "\\r")  # which names of files may have
    if len(line) > LONGEST_LINE:  # of a list of labels, say; what to do about it stands at the end
        half = (LONGEST_LINE - len(" ... ")) // 2
        line = f"{line[:half]} ... {line[-half:]}"
    print(line, file=sys.stderr)
    sys.exit(MISTAKE)
