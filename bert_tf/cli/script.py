"""The common start and end of all scripts.

TensorFlow is quiet, and invalid user input ends a script with one line and status 1. A script
consists of its settings and the module of its job, which has a function `run(settings)`:

    COMMAND = script.Command(FineTuningSettings(), "run.finetuning.job")

    if __name__ == "__main__":
        COMMAND.run()

TensorFlow takes seconds to import, so the job is imported after the settings are checked: `--help`
and errors in flags are immediate.
"""

import errno
import gc
import importlib
import os
import re
import sys
import tempfile

from absl import app, flags, logging

from bert_tf import notes, processor, tensorflow_messages
from bert_tf.cli import endings, resolution, roles, usage
from bert_tf.cli import flags as setting_flags
from bert_tf.cli.model_files import ModelFiles
from bert_tf.cli.settings import check_rules
from bert_tf.errors import InputError, LostWorkerError
from bert_tf.files import use_temporary_directory

flags.disclaim_key_flags()  # a flag defined here belongs, in --help, to the calling script

INPUT_ERROR = 1  # Exit status for invalid input.
LOST_WORKER = 75  # Exit status if the same command can succeed: EX_TEMPFAIL of sysexits.h.
INTERNAL_ERROR = 70  # Exit status for bugs of this project: EX_SOFTWARE of sysexits.h.
CLOSED_PIPE = 141  # Status in a shell of a process that wrote to a closed pipe.

# TensorFlow's messages: location in the graph, and tensors for which memory was insufficient.
IN_GRAPH = re.compile(r"\{\{.*?\}\}\s*|\s*\[Op:\w+\].*")
ALLOCATION = re.compile(r"OOM when allocating tensor with shape(\[[\d,]*\]) and type (\w+)")
XLA_ALLOCATION = re.compile(r"Out of memory while trying to allocate (\d+) bytes")
# The first lines of an error in a graph name its operation and the lines of Python that created it.
GRAPH_HEADER = re.compile(
    "Graph execution error:|Detected at node |Node: '|"
    r'\d+ root error|\s+File "|<stack traces|\s*$'
)
# Advice for insufficient memory.
MEMORY_ADVICE = "reduce the batch size, the sequence length, or the model size"

HELP_FLAGS = {"-help", "--help", "-helpshort", "--helpshort", "-helpfull", "--helpfull"}

# Messages of the system, of Python and of TensorFlow, about a full disk, a full quota, and a limit
# of the size of files, with what to do.
FULL = os.strerror(errno.ENOSPC)
ADVICE = {
    FULL: "; free some space, or choose another directory",
    os.strerror(errno.EDQUOT): "; free some space, or choose another directory",
    os.strerror(errno.EFBIG): "; raise the limit of the size of files (ulimit -f)",
}

MAX_LINE = 300  # Maximum number of characters of an error message, including the script's name.

# Block size of TensorFlow's gs:// client for reads at any position: its default of 64 MB is a lot
# for the first records of many files.
REMOTE_BLOCK_MB = 16

FASTER_WITH_ONEDNN = "avx2"  # CPUs with these instructions

# TensorFlow's errors about a user's files, network, devices, or memory, which bugs in graphs of
# this project rarely cause. All others count as bugs, since an unnecessary traceback does less harm
# than a missing one. This includes FailedPreconditionError, mostly for a variable or table that was
# not initialized (directories instead of files are found before TensorFlow opens them), and
# CancelledError, which only follows from another error.
ENVIRONMENT_ERRORS = (
    # Files, also corrupted ones.
    "NotFoundError",
    "PermissionDeniedError",
    "AlreadyExistsError",
    "DataLossError",
    # Storage and other machines.
    "UnavailableError",
    "UnauthenticatedError",
    "DeadlineExceededError",
    "AbortedError",  # another machine of the same run ended
    "ResourceExhaustedError",  # memory, especially of a GPU; a full disk
)


class Command:
    """A script: flags, the settings from them and from files next to a checkpoint, and the job.

    Args:
      settings: Settings with the defaults of the flags.
      job: Name of the module whose `run(settings)` does the work.
      only: Names of the settings that are flags; None for all.
      arguments: Name of the setting to which arguments that are not flags are added, separated by
        commas; None if they are not allowed.
    """

    def __init__(self, settings, job, only=None, arguments=None):
        self.settings = settings
        self.job = job
        self.only = only
        self._arguments = arguments

    def run(self):
        """Defines the flags, runs the script in the current process, and exits.

        The exit status of the process is:
          INPUT_ERROR, after one line on standard error: for an unknown or invalid flag, an
            InputError, a file or standard output that cannot be read or written, by Python or
            TensorFlow, or insufficient memory.
          LOST_WORKER, after one line on standard error: if another process of the same training run
            ended.
          INTERNAL_ERROR, after a traceback and a line that asks to report it: for any other
            exception.
          endings.INTERRUPTED: for Ctrl-C.
          endings.TERMINATED: for SIGTERM; partial files are removed, as after Ctrl-C. (Training
            saves a checkpoint first.)
          CLOSED_PIPE, without a message: if the reader of the output, such as `head`, has closed
            the pipe.
          0: otherwise, also for --help.
        """
        for name, stream in (("output", sys.stdout), ("error", sys.stderr)):
            if stream is None:  # A file of the script would get its number.
                _fail(f"standard {name} is closed; redirect it to a file or to /dev/null")
        self.define_flags()
        flags.DEFINE_bool("traceback", False, "Also print the Python traceback of an error.")
        prepare_tensorflow()
        app.run(self._run_guarded, flags_parser=self._parse_flags)

    def _parse_flags(self, argv):
        try:
            "".join(argv).encode()
            requested = HELP_FLAGS & set(argv[1:])
            if requested:
                purpose = sys.modules["__main__"].__doc__
                is_full = "helpfull" in requested.pop()
                print(usage.write_help(purpose, self.settings, self.only, is_full))
                sys.stdout.flush()
                sys.exit(0)
            return flags.FLAGS(argv)
        except flags.Error as error:
            _fail(f"{_one_line(error)} (see --help)")
        except UnicodeEncodeError:  # TensorFlow cannot open such a file
            _fail("the command line is not valid UTF-8; rename the file")
        except OSError as error:  # in writing the help
            _end_after_output(endings.find_output_error(error) or error)

    def _run_guarded(self, argv):
        """Runs `main(argv)`, and ends the process as `run` describes.

        `argv[1:]` are the arguments that are not flags.
        """
        if len(argv) > 1 and not self._arguments:
            _fail(f"unexpected argument {argv[1]!r}; write flags as --name=value")
        try:
            with endings.raise_on_signals(), use_temporary_directory():
                self.main(argv)
                sys.stdout.flush()  # here, so that its errors become one line too
                gc.freeze()  # At its end, Python would search TensorFlow's modules again.
        except tuple(endings.ENDINGS) as ending:
            endings.find_output_error()
            status, message = endings.ENDINGS[type(ending)]
            notes.write_line(f"\n{_script_name()}: {message}")
            sys.exit(status)
        except Exception as error:
            _end_after(error, self._name_flag)

    def _name_flag(self, line):
        """Adds the flag to an error message that begins with the path of its file.

        For a full disk, the flag of the directory can also be named.
        """
        advice = next((ADVICE[reason] for reason in ADVICE if reason in line), "")
        for name, value in setting_flags.get_explicit().items():
            for path in _list_values(value):
                if line.startswith(f"{path}:"):
                    return f"--{name}={line}{advice}"
                if advice and re.match(rf"{re.escape(path)}(?=[/;.-])", line):
                    return f"--{name}={path}: {line}{advice}"
        if FULL in line and tempfile.gettempdir() in line:
            return f"{line}; free some space, or set TMPDIR to another directory"
        return f"{line}{advice}"

    def define_flags(self):
        """Defines the flags."""
        setting_flags.define(self.settings, self.only)

    def main(self, argv):
        """Resolves the settings, then imports and runs the job.

        `argv[1:]` are the arguments that are not flags.
        """
        settings = self.resolve(argv[1:])
        with roles.lock_outputs(settings):
            # Python would search TensorFlow's modules again and again while it imports them. With
            # the end of the process, this takes 1.3 of 3.6 s for the fine-tuning job. The library
            # does not change the collector, which belongs to the user's process.
            gc.disable()
            try:
                job = importlib.import_module(self.job)
                gc.freeze()  # and afterwards
            finally:
                gc.enable()
            job.run(settings)

    def resolve(self, arguments=()):
        """Returns the effective settings for parsed flags; see bert_tf.cli.resolution."""
        for field, _ in self.settings.fields():
            recipes = field.metadata["recipes"]
            if not recipes:
                continue
            recipe = setting_flags.get_explicit().get(field.name)
            if recipe:
                notes.tell(setting_flags.use_recipe(recipe, recipes[recipe]))
        settings = setting_flags.read(self.settings)
        if arguments:
            named = settings.values()[self._arguments] or ""
            settings = settings.replace_values({self._arguments: ",".join([*arguments, named])})
        check_rules(settings)
        model_files = ModelFiles(resolution.find_model_paths(settings))
        return resolution.resolve(settings, setting_flags.get_explicit(), model_files, warn)


def announce(text):
    """Prints a message of the library, with names of arguments in it as this script's flags."""
    print(to_flag_names(str(text)))


def warn(text):
    """Prints a message like `announce`, but to standard error."""
    notes.write_line(to_flag_names(str(text)))


def _end_after(error, complete):
    """Prints an error, and exits with its status.

    `complete`: Function of the message of an invalid input that returns the one to print.
    """
    output_error = endings.find_output_error(error)
    if output_error is not None and isinstance(error, OSError):
        _end_after_output(output_error)
    is_lost = isinstance(error, LostWorkerError)
    is_input_error = _is_input_error(error)
    if flags.FLAGS["traceback"].value or not (is_lost or is_input_error):
        sys.excepthook(type(error), error, error.__traceback__)
    if is_lost or is_input_error:
        _fail(complete(_one_line(error)), LOST_WORKER if is_lost else INPUT_ERROR)
    notes.write_line(
        f"{_script_name()}: internal error in bert_tf; please report it with the command and the "
        "traceback above"
    )
    sys.exit(INTERNAL_ERROR)


def _end_after_output(error):
    """Exits after an OSError of standard output."""
    if isinstance(error, BrokenPipeError):
        sys.exit(CLOSED_PIPE)
    _fail(f"standard output cannot be written: {error.strerror}")


def to_flag_names(text):
    """Replaces backquoted argument names in a library message with this script's flags.

    `noNAME` becomes --noNAME.
    """
    return re.sub(
        r"`((?:no)?(\w+))`",
        lambda match: f"--{match[1]}" if {match[1], match[2]} & {*flags.FLAGS} else match[0],
        text,
    )


def prepare_tensorflow():
    """Hides TensorFlow's own messages, and configures its matrix multiplications and gs:// client.

    TensorFlow reads the environment, whose existing settings are kept, when it is imported: call
    this first.

    Message level 3 also hides errors: a machine without a GPU shows one ("failed call to cuInit"),
    but with a GPU, an error can say why it is not used. By default, TensorFlow uses Eigen for
    matrix multiplications on CPUs without 8-bit instructions (such as AVX512-VNNI), although oneDNN
    is faster there too.
    """
    has_gpu = os.path.exists("/dev/nvidiactl")
    os.environ.setdefault(tensorflow_messages.LEVEL_VARIABLE, "2" if has_gpu else "3")
    os.environ.setdefault("GCS_READ_CACHE_BLOCK_SIZE_MB", str(REMOTE_BLOCK_MB))
    # Otherwise, TensorFlow imports Keras 3, which is not used here.
    os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
    if FASTER_WITH_ONEDNN in processor.read()[1]:
        os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    logging.set_verbosity(logging.ERROR)
    tensorflow_messages.hide_at_import()


def _is_input_error(error):
    """Returns whether an error is about a user's input, files, or the limits of the machine."""
    if isinstance(error, (InputError, OSError, MemoryError)):
        return True
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None or not isinstance(error, tensorflow.errors.OpError):
        return False
    known = tuple(getattr(tensorflow.errors, name) for name in ENVIRONMENT_ERRORS)
    # A file over the limit of the system is an OutOfRangeError, which is otherwise a bug.
    return isinstance(error, known) or any(reason in str(error) for reason in ADVICE)


def _one_line(error):
    if hasattr(error, "node_def"):  # a user cannot use TensorFlow's location in the graph
        return _tensorflow_line(error)
    if isinstance(error, OSError) and error.strerror:
        return (
            f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror
        )
    if isinstance(error, MemoryError):
        return f"not enough memory: {error}" if str(error) else "not enough memory"
    return to_flag_names(" ".join(str(error).split()) or type(error).__name__)


def _tensorflow_line(error):
    lines = [line for line in error.message.splitlines() if not GRAPH_HEADER.match(line)]
    line = IN_GRAPH.sub("", (lines or [""])[0]) or type(error).__name__
    allocation = ALLOCATION.search(error.message)
    if allocation:
        tensor = f"a tensor of shape {allocation[1]} and type {allocation[2]}"
        return f"not enough memory for {tensor}; {MEMORY_ADVICE}"
    allocation = XLA_ALLOCATION.search(error.message)
    if allocation:
        size = f"{int(allocation[1]) / 1e6:,.1f} MB"
        return f"not enough memory for an allocation of {size}; {MEMORY_ADVICE}"
    return line


def _list_values(value):
    """Returns the values of a flag, which can be comma-separated, without empty ones."""
    values = value if isinstance(value, list) else [value]
    texts = [text for text in values if isinstance(text, str)]
    return [part for text in texts for part in dict.fromkeys([text, *text.split(",")]) if part]


def _script_name():
    return os.path.basename(sys.argv[0])


def _fail(message, status=INPUT_ERROR):
    # File names in the message can contain line breaks.
    line = f"{_script_name()}: {message}".replace("\n", "\\n").replace("\r", "\\r")
    if len(line) > MAX_LINE:  # for example, for a list of labels; advice is at the end
        half = (MAX_LINE - len(" ... ")) // 2
        line = f"{line[:half]} ... {line[-half:]}"
    notes.write_line(line)
    sys.exit(status)
