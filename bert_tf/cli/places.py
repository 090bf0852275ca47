"""Roles of paths among settings, and the one check of all paths of a job."""

from bert_tf.cli import paths
from bert_tf.cli.settings import is_met, shown
from bert_tf.errors import InputError
from bert_tf.files import is_dir

INPUT_FILE = "a file that is read"
INPUT_STREAM = "a file that is read, or - for standard input"
INPUT_PATH = "a file or a folder that is read"
INPUT_FOLDER = "a folder of files that are read"
INPUT_FILES = "comma-separated globs and folders, which the job expands"
MODEL = "a checkpoint, a config or an export, which its reader checks"
OUTPUT_FILE = "a file that is written"
OUTPUT_STREAM = "a file that is written, or - for standard output"
OUTPUT_FOLDER = "a folder that is written into, made if missing"
RUN_FOLDER = "an output folder of training, whose run is resumed or evaluated"

_CHECKS = {
    INPUT_FILE: paths.check_file,
    INPUT_STREAM: paths.check_file,
    INPUT_PATH: lambda name, path: paths.check_file(name, path, or_folder=True),
    INPUT_FOLDER: paths.check_folder,
    OUTPUT_FILE: paths.check_output_file,
    OUTPUT_STREAM: paths.check_output_file,
    OUTPUT_FOLDER: paths.check_output_dir,
    RUN_FOLDER: paths.check_output_dir,
}


def check(settings, *others, without=()):
    """Checks that all required settings have values, that inputs can be read, and that no output replaces an input.

    A path whose `required` condition is not met is not looked at.

    Args:
      settings: Settings.
      *others: further Settings that conditions name.
      without: names of settings that are not looked at.

    Raises:
      InputError: naming the setting and its value.
    """
    fields = [pair for each in (settings, *others) for pair in each.fields()]
    found = {}
    for field, value in settings.fields():
        place = _place(field, fields)
        required = field.metadata["required"] or field.name in settings.always_required
        if field.name in without or (isinstance(required, str) and not is_met(required, fields)):
            continue
        if not value and required:
            raise InputError(f"is required{f' with {shown(required)}' if isinstance(required, str) else ''}",
                             field.name)
        if value and place and not (value == "-" and place in (INPUT_STREAM, OUTPUT_STREAM)):
            found[field.name] = place, value
    for name, (place, path) in found.items():
        if place in _CHECKS:
            _CHECKS[place](name, path)
    for name, (place, path) in found.items():
        if place in (OUTPUT_FILE, OUTPUT_STREAM, OUTPUT_FOLDER):
            paths.check_not_given(name, path, {
                other: each for other, (role, each) in found.items()
                if role in (INPUT_FILE, INPUT_STREAM, INPUT_PATH, INPUT_FOLDER, MODEL)})
        if place in (OUTPUT_FILE, OUTPUT_STREAM, OUTPUT_FOLDER, RUN_FOLDER):
            paths.check_not_found(name, path, {
                other: each for other, (role, each) in found.items()
                if role == INPUT_FILES or (role == INPUT_PATH and is_dir(each))},
                is_folder=place in (OUTPUT_FOLDER, RUN_FOLDER))


def _place(field, fields):
    """The role of a path, which may depend on another setting: dict of condition -> role, None for all others."""
    place = field.metadata["place"]
    if isinstance(place, dict):
        return next(role for condition, role in place.items() if condition is None or is_met(condition, fields))
    return place
