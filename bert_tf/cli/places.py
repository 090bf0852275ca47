"""Roles of paths among settings, the one check of all paths of a job, and the locks of its outputs."""

import contextlib

from bert_tf.cli import paths
from bert_tf.cli.settings import format_condition, is_met
from bert_tf.errors import InputError
from bert_tf.files import folder_for, is_dir, lock_output

INPUT_FILE = "a file that is read"
INPUT_STREAM = "a file that is read, or - for standard input"
INPUT_PATH = "a file or a directory that is read"
INPUT_FOLDER = "a directory of files that are read"
INPUT_FILES = "comma-separated globs and directories, which the job expands"
MODEL = "a checkpoint, a config or an export, which its reader checks"
INPUT = "a path that is read, which its reader checks"
CHECKPOINT = "a checkpoint, or several, that resolution finds, apart from the directory of a run"
OUTPUT_FILE = "a file that is written"
OUTPUT_STREAM = "a file that is written, or - for standard output"
OUTPUT_FOLDER = "a directory that is written into, created if it does not exist"
SHARED_FOLDER = "a directory that is written into, which can also contain a model"
CACHE_FOLDER = "a directory that several runs share, which each of them locks while it writes"
RUN_FOLDER = "an output directory of training, whose run is resumed or evaluated"

_CHECKS = {
    INPUT_FILE: paths.check_file,
    INPUT_STREAM: paths.check_file,
    INPUT_PATH: lambda name, path: paths.check_file(name, path, or_folder=True),
    INPUT_FOLDER: paths.check_folder,
    OUTPUT_FILE: paths.check_output_file,
    OUTPUT_STREAM: paths.check_output_file,
    OUTPUT_FOLDER: paths.check_output_dir,
    SHARED_FOLDER: paths.check_output_dir,
    CACHE_FOLDER: paths.check_output_dir,
    RUN_FOLDER: paths.check_run_folder,
}


def check(settings, *others, without=()):
    """Checks that required settings have values, that inputs can be read, and that no output replaces an input.

    A path is ignored if it is required with a condition that is not met.

    Args:
      settings: Settings.
      *others: Further Settings that conditions refer to.
      without: Names of settings to ignore.

    Raises:
      InputError: With the setting and its value.
    """
    check_required(settings, *others, without=without)
    found = _find_paths(settings, *others, without=without)
    for name, (place, path) in found.items():
        if place in _CHECKS:
            _CHECKS[place](name, path)
    for name, (place, path) in found.items():
        _check_output(name, place, path, found)


@contextlib.contextmanager
def lock_outputs(settings):
    """Prevents other processes of this machine from locking the same outputs within a context.

    The output directory of a training run is excluded: the run locks it if it trains.

    Args:
      settings: Settings, resolved.

    Raises:
      InputError: If another process writes to an output, which the error names.
    """
    with contextlib.ExitStack() as locks:
        for name, (place, path) in _find_paths(settings).items():
            if place in (OUTPUT_FOLDER, SHARED_FOLDER):
                locks.enter_context(folder_for(path))
            if place in (OUTPUT_FILE, OUTPUT_STREAM, OUTPUT_FOLDER, SHARED_FOLDER):
                locks.enter_context(lock_output(name, path))
        yield


def _find_paths(settings, *others, without=()):
    """Returns a dict of name -> (role, path) of the settings with a role; arguments: see `check`."""
    fields = [pair for each in (settings, *others) for pair in each.fields()]
    roles = {field.name: (_place(field, fields), value) for field, value in settings.fields()
             if value and field.name not in without and _is_read(field, fields)}
    return {name: (place, path) for name, (place, path) in roles.items()
            if place and not (path == "-" and place in (INPUT_STREAM, OUTPUT_STREAM))}


def _check_output(name, place, path, found):
    """Raises InputError if an output replaces an input or would be read as one; found: name -> (role, path)."""
    def having(*roles):
        return {other: each for other, (role, each) in found.items() if role in roles}

    if place in (OUTPUT_FILE, OUTPUT_STREAM, OUTPUT_FOLDER, CACHE_FOLDER):
        paths.check_not_overwritten(
            name, path, having(INPUT_FILE, INPUT_STREAM, INPUT_PATH, INPUT_FOLDER, INPUT, MODEL))
    if place == RUN_FOLDER:
        paths.check_separate(name, path, having(CHECKPOINT))
    if place in (OUTPUT_FILE, OUTPUT_STREAM, OUTPUT_FOLDER, SHARED_FOLDER, CACHE_FOLDER, RUN_FOLDER):
        folders = {other: each for other, each in having(INPUT_PATH).items() if is_dir(each)}
        paths.check_not_read(name, path, having(INPUT_FILES) | folders,
                              is_folder=place not in (OUTPUT_FILE, OUTPUT_STREAM))


def check_required(settings, *others, without=()):
    """Raises InputError about a setting that is required and has no value.

    Args:
      settings, *others: See `check`.
      without: Names of settings to ignore, such as settings that can get a value later.
    """
    fields = [pair for each in (settings, *others) for pair in each.fields()]
    for field, value in settings.fields():
        required = field.metadata["required"] or field.name in settings.always_required
        if value or not required or field.name in without:
            continue
        wanted, other = _conditions(required)
        if _is_required(required, fields):
            raise InputError("is required" + (f" with {format_condition(wanted)}" if wanted else "")
                             + (f" without {format_condition(other)}" if is_met(other, fields) is False else ""),
                             field.name)


def _is_read(field, fields):
    """Returns whether to check a path: not if it is required with a condition that is not met."""
    required = field.metadata["required"]
    return not _conditions(required)[0] or _is_required(required, fields)


def _is_required(required, fields):
    wanted, other = _conditions(required)
    return (not wanted or is_met(wanted, fields)) and not is_met(other, fields)


def _conditions(required):
    """Returns the parts of `required` before and after "without", "" for nothing."""
    wanted, _, other = required.partition("without ") if isinstance(required, str) else ("", "", "")
    return wanted.strip(), other


def _place(field, fields):
    """Returns the role of a path, which can depend on a setting: dict of condition -> role, None for all others."""
    place = field.metadata["place"]
    if isinstance(place, dict):
        return next(role for condition, role in place.items() if condition is None or is_met(condition, fields))
    return place
