"""The state of a resumable command, in a JSON file of its output directory.

The file contains the settings, the input files, and the finished parts:

    state = RunState(folder, snapshot(settings), {"train_file": fingerprint(paths)})
    state.begin()
    state.finish("results", value)

Creating the object compares it with an existing file, and writes nothing. `begin` writes the
settings, unless the run is resumed. `finish` also writes a finished part, for
`state.result("results")`. Does not import TensorFlow.
"""

import dataclasses
import hashlib
import itertools
import json
import os

from bert_tf import files
from bert_tf.checkpoints.training_run import RUN_FILE, has_run
from bert_tf.cli.script import announce
from bert_tf.errors import InputError
from bert_tf.files import new_file, read_json_object, to_json

CHANGEABLE = "changeable"  # Key of the settings that can differ in a resumed run.
SAMPLE_BYTES = 1 << 26  # Inputs of up to this many bytes together are compared completely.
BLOCK_BYTES = 1 << 16


def snapshot(*all_settings):
    """Returns the values of all settings of a run except paths, for RunState.

    Args:
      *all_settings: Settings, resolved.

    Returns:
      Dict of name -> value, with a dict of the changeable settings as CHANGEABLE.
    """
    fixed = {}
    changeable = {}
    fixed_groups = [
        getattr(settings, name) for settings in all_settings for name in settings.fixed_groups
    ]
    for group in itertools.chain(*(settings.groups() for settings in all_settings)):
        is_fixed = any(group is each for each in fixed_groups)
        for field in dataclasses.fields(group):
            if (
                field.metadata
                and not field.metadata["role"]
                and field.metadata["changeable"] is not None
            ):
                may_change = (field.metadata["changeable"] or group.changeable) and not is_fixed
                values = changeable if may_change else fixed
                # Otherwise, another group has a setting of this name that is set.
                if values.get(field.name) is None:
                    values[field.name] = getattr(group, field.name)
    return {**fixed, CHANGEABLE: changeable} if changeable else fixed


class RunState:
    """Initial settings of a run, compared with the current ones, and its finished parts.

    A file without results, which for a run.json are checkpoints, is from a run that was killed
    before it had any. A new run overwrites it.

    Args:
      folder: Path of the output directory; it does not have to exist.
      values: Dict of setting -> JSON value that must be equal in a resumed run, from `snapshot`;
        those in the dict CHANGEABLE may differ.
      inputs: Dict of setting -> `fingerprint` of its files, which must be equal too.
      name: Name of the file.
      must_be_empty: If True, a directory without the file must be empty.
      output: Tuple of the setting with the path of the output and this path, for messages. Defaults
        to `output_dir`.
      has_results: Callable without arguments: whether the run has results. Defaults to checkpoints
        for a run.json, and to True for other files.

    Raises:
      InputError: If a setting differs, the file is corrupted, or the directory is not empty.
    """

    def __init__(
        self,
        folder,
        values,
        inputs=None,
        *,
        name=RUN_FILE,
        must_be_empty=False,
        output=None,
        has_results=None,
    ):
        self._folder = folder
        self._path = os.path.join(folder, name)
        self._must_be_empty = must_be_empty
        values = json.loads(json.dumps({**values, **(inputs or {})}))
        self._may_change = values.pop(CHANGEABLE, {})
        self._started_with = values
        self._output = output or ("output_dir", folder)
        self._has_results = has_results or (lambda: name != RUN_FILE or has_run(folder))
        self._check()

    @property
    def is_resumed(self):
        """True if the directory contains a run to resume."""
        return files.at(self._path).exists() and self._has_results()

    def begin(self):
        """Writes the settings; for a resumed run, only changed ones, which it prints.

        Compares again: another process could have begun a run.
        """
        self._check()
        if not self.is_resumed:
            changeable = {CHANGEABLE: self._may_change} if self._may_change else {}
            self._write(self._started_with | changeable)
            return
        existing = read_json_object(self._path)
        before = existing.get(CHANGEABLE, {})
        if not isinstance(before, dict):
            raise InputError(f"{self._path}: {CHANGEABLE} is {before!r:.60}: must be a JSON object")
        changes = [
            f"`{name}` {_format_value(value)} (was {_format_value(before[name])})"
            for name, value in self._may_change.items()
            if name in before and before[name] != value
        ]
        if changes:
            announce(f"{self._folder}: resumes with changed settings: {', '.join(changes)}")
            self._write(existing | {CHANGEABLE: before | self._may_change})

    def result(self, part):
        """Returns the value of a finished part; None if it is not finished."""
        return read_json_object(self._path).get(part) if self.is_resumed else None

    def finish(self, part, value):
        """Writes the JSON value of a finished part, and the settings if the run has not begun."""
        existing = read_json_object(self._path) if self.is_resumed else self._started_with
        self._write(existing | {part: value})

    def _check(self):
        if not self.is_resumed:
            if self._must_be_empty and not files.is_empty(self._folder):
                raise InputError(
                    f"is not empty and has no {os.path.basename(self._path)} to resume from; "
                    "choose another directory",
                    "output_dir",
                    self._folder,
                )
            return
        existing = read_json_object(self._path)
        argument, path = self._output
        advice = f"choose another `{argument}` for a new run"
        for name, value in self._started_with.items():
            if name in existing and existing[name] != value:
                raise InputError(
                    f"contains a run with `{name}` {_format_value(existing[name])}, "
                    f"not {_format_value(value)}; {advice}",
                    argument,
                    path,
                )
        if missing := next((name for name in self._started_with if name not in existing), None):
            raise InputError(f"contains a run without `{missing}`; {advice}", argument, path)

    def _write(self, values):
        files.at(self._folder or ".").make_dirs()
        with new_file(self._path) as file:
            file.write(to_json(self._path, values, indent=2) + "\n")


def fingerprint(paths, is_complete=False):
    """Returns a dict that identifies files by their number, names, sizes, and contents.

    The names are without directories, the sizes in bytes. The contents are the first SAMPLE_BYTES
    of all files together or, with `is_complete`, all bytes.
    """
    sizes = [files.at(path).size() for path in paths]
    names = [[os.path.basename(path), size] for path, size in zip(paths, sizes, strict=True)]
    contents = hashlib.sha256(json.dumps(names).encode())
    remaining = sum(sizes) if is_complete else SAMPLE_BYTES
    for path in paths:
        if not remaining:
            break
        with files.at(path).open() as file:
            while block := file.read(min(remaining, BLOCK_BYTES)):
                contents.update(block)
                remaining -= len(block)
    return {"files": len(paths), "bytes": sum(sizes), "contents": contents.hexdigest()}


def _format_value(value):
    if isinstance(value, dict):
        return (
            f"of {value.get('bytes')} bytes ({value.get('files')} files, "
            f"{str(value.get('contents'))[:8]})"
        )
    return ",".join(map(str, value)) if isinstance(value, list) else value
