"""How every script starts and ends: quiet TensorFlow, one-line errors, exit status 1 for a user's mistake.

A script that anyone runs by hand defines its flags, checks them and calls the library from `main()`:

    if __name__ == "__main__":
        command_line.run(main, define_flags)

TensorFlow takes seconds to import, so scripts import it, and whatever needs it, inside `main()`: `--help` and
a misspelt flag answer at once.
"""

import glob
import os
import sys

from absl import app, flags, logging

flags.disclaim_key_flags()  # a flag defined here belongs, in --help, to the script that calls

INTERRUPTED = 130  # what a shell reports for a process ended by Ctrl-C
PARTIAL_SUFFIX = ".partial"  # of a file that is being written
MANIFEST_SUFFIX = ".manifest.json"  # of what stands beside records and says what they were made of


def run(main, define_flags, takes_arguments=False):
    """Defines a script's flags, runs its `main(argv)` and exits.

    Flags are defined here, not when the script is imported, so that a test can import several scripts. Arguments
    that are not flags are refused, unless `takes_arguments`; argv[1:] has them.

    An unknown flag or a flag value that does not parse, a ValueError, and a file that cannot be read or written,
    by Python or TensorFlow, end the process with one line on standard error and exit status 1; Ctrl-C ends it with
    status 130.
    """
    define_flags()
    flags.DEFINE_bool("traceback", False, "Show the Python traceback of an error in place of one line; for "
                                          "reporting a bug.")
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
            if flags.FLAGS.traceback or not _is_mistake(error):
                raise
            return _fail(_one_line(error))

    app.run(guarded, flags_parser=_parse_flags)


def check_file(flag, path):
    """Raises ValueError naming `flag` unless `path` is a file that can be read; a remote one is not looked at."""
    if not path:
        raise ValueError(f"--{flag} is needed")
    if is_remote(path):
        return
    if os.path.isdir(path):
        raise ValueError(f"--{flag}={path}: is a directory, a file is needed")
    if not os.path.isfile(path):
        raise ValueError(f"--{flag}={path}: no such file")
    if not os.access(path, os.R_OK):
        raise ValueError(f"--{flag}={path}: cannot be read")


def expand_globs(flag, patterns, folders=False):
    """The files that comma-separated glob patterns match, each once, sorted within a pattern.

    Files that are being written (.partial) and manifests of records are no data: they must be named in full.

    Args:
      flag: name, for messages.
      patterns: the flag's value, None or empty where it was not given.
      folders: whether a folder stands for all files in it and below, but for hidden ones; otherwise it is refused.

    Raises:
      ValueError: naming `flag`, for no pattern, one that matches nothing, or a folder with no files or not allowed.
    """
    paths = []
    for pattern in filter(None, (patterns or "").split(",")):
        matches = sorted(path for path in _glob(pattern) if path == pattern or _is_data(path))
        if not matches:
            raise ValueError(f"--{flag}={pattern}: no such file")
        for path in matches:
            if is_remote(path) or not os.path.isdir(path):
                paths.append(path)
                continue
            if not folders:
                raise ValueError(f"--{flag}={path}: is a directory, files are needed: {path}/* for all in it")
            inside = files_below(path)
            if not inside:
                raise ValueError(f"--{flag}={path}: a directory without files")
            paths += inside
    if not paths:
        raise ValueError(f"--{flag} is needed")
    return list(dict.fromkeys(paths))


def files_below(folder):
    """All data files in a local folder and its folders, sorted, without hidden ones."""
    found = []
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [os.path.join(parent, name) for name in names
                  if not name.startswith(".") and _is_data(name)]
    return sorted(found)


def _is_data(path):
    return not path.endswith((PARTIAL_SUFFIX, MANIFEST_SUFFIX))


def is_remote(path):
    """Whether a path is of a file system that TensorFlow knows, such as gs://, and Python does not."""
    return "://" in str(path)


def _glob(pattern):
    if is_remote(pattern):
        import tensorflow as tf

        return tf.io.gfile.glob(pattern)
    return glob.glob(pattern, recursive=True)


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
    """Whether an error tells of a user's input: a ValueError, or a file that cannot be read or written."""
    if isinstance(error, (ValueError, OSError)):
        return True
    tensorflow = sys.modules.get("tensorflow")
    return tensorflow is not None and isinstance(error, tensorflow.errors.OpError)


def _one_line(error):
    if hasattr(error, "node_def"):  # TensorFlow's: where in the graph it was raised is of no use to a user
        return error.message.splitlines()[0]
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split())


def _script_name():
    return os.path.basename(sys.argv[0])


def _fail(message):
    print(f"{_script_name()}: {message}", file=sys.stderr)
    sys.exit(1)
