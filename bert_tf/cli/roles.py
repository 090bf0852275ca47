"""Roles of paths among settings, the check of all paths of a job, and the locks of its outputs."""

import contextlib

from bert_tf import files
from bert_tf.cli import paths
from bert_tf.cli.rules import Required, find_required
from bert_tf.errors import InputError
from bert_tf.files import folder_for, lock_output

INPUT_FILE = "a file that is read; some jobs accept - for standard input"
INPUT_PATH = "a file or a directory that is read"
INPUT_FOLDER = "a directory of files that are read"
INPUT_FILES = "comma-separated globs and directories, which the job expands"
INPUT = "a path that is read, or several, such as models, which their reader checks"
OUTPUT_FILE = "a file that is written; some jobs accept - for standard output"
OUTPUT_FOLDER = "a directory that is written into, created if it does not exist"
SHARED_FOLDER = "a directory that is written into, which can also contain a model"
CACHE_FOLDER = "a directory that several runs share, which each of them locks while it writes"
RUN_FOLDER = "an output directory of training, whose run is resumed or evaluated"

_CHECKS = {
    INPUT_FILE: paths.check_file,
    INPUT_PATH: lambda name, path: paths.check_file(name, path, or_folder=True),
    INPUT_FOLDER: paths.check_folder,
    OUTPUT_FILE: paths.check_output_file,
    OUTPUT_FOLDER: paths.check_output_dir,
    SHARED_FOLDER: paths.check_output_dir,
    CACHE_FOLDER: paths.check_output_dir,
    RUN_FOLDER: paths.check_run_folder,
}
_INPUTS = (INPUT_FILE, INPUT_PATH, INPUT_FOLDER, INPUT)
_OUTPUT_FOLDERS = (OUTPUT_FOLDER, SHARED_FOLDER, CACHE_FOLDER, RUN_FOLDER)
# These outputs may be the directory of a model that is read.
_WITH_MODEL = (SHARED_FOLDER, RUN_FOLDER)


def check_roles(settings, *others, without=()):
    """Checks all required settings and paths of a job.

    Required settings must have values, inputs must be readable, and no output can be an input or
    inside one. A path is ignored if it is required with a condition that is not met.

    Args:
      settings: Settings.
      *others: Further Settings that conditions refer to.
      without: Names of settings to ignore.

    Raises:
      InputError: With the setting and its value.
    """
    check_required(settings, *others, without=without)
    roles = _find_roles(settings, *others, without=without)
    for name, (role, path) in roles.items():
        if role in _CHECKS:
            _CHECKS[role](name, path)
    inputs = {
        field.name: value for field, value in settings.fields() if field.metadata["role"] in _INPUTS
    }
    searched = {
        name: path
        for name, (role, path) in roles.items()
        if role == INPUT_FILES or (role == INPUT_PATH and files.at(path).is_dir())
    }
    for name, (role, path) in roles.items():
        if role != OUTPUT_FILE and role not in _OUTPUT_FOLDERS:
            continue
        if role not in _WITH_MODEL:
            paths.check_not_overwritten(name, path, inputs)
        if role in _OUTPUT_FOLDERS and settings.written:
            paths.check_files_not_overwritten(name, path, settings.written, inputs)
        paths.check_not_read(name, path, searched, is_folder=role in _OUTPUT_FOLDERS)


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
        for name, (role, path) in _find_roles(settings).items():
            if role in (OUTPUT_FOLDER, SHARED_FOLDER):
                locks.enter_context(folder_for(path))
            if role in (OUTPUT_FILE, OUTPUT_FOLDER, SHARED_FOLDER):
                locks.enter_context(lock_output(name, path))
        yield


def check_required(settings, *others, without=()):
    """Raises InputError about a setting that is required and has no value.

    Args:
      settings, *others: See `check_roles`.
      without: Names of settings to ignore, such as settings that can get a value later.
    """
    fields = [pair for group in (settings, *others) for pair in group.fields()]
    always = settings.always_required
    for field, value in settings.fields():
        rule = find_required(field) or (Required() if field.name in always else None)
        if value or field.name in without or rule is None or not rule.is_met(fields):
            continue
        raise InputError(f"is required{rule.describe(fields)}", field.name)


def _find_roles(settings, *others, without=()):
    """Returns a dict of name -> (role, path) of the settings that are paths.

    Arguments: see `check_roles`.
    """
    fields = [pair for group in (settings, *others) for pair in group.fields()]
    found = {}
    for field, path in settings.fields():
        role = field.metadata["role"]
        rule = find_required(field)
        is_read = rule is None or rule.when is None or rule.is_met(fields)
        if role and path and path != "-" and is_read and field.name not in without:
            found[field.name] = role, path
    return found
