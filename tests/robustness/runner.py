"""Runs a try: a script with flags, some of them hostile, in a folder of files; and says what of it did not behave.

Tries run in a process that has imported TensorFlow and all of this project, or are forked from one, so that one takes
some hundredths of a second.
"""

import contextlib
import dataclasses
import os
import pathlib
import re
import shutil
from collections.abc import Mapping

from tests import scripts

LONGEST_LINE = 300  # characters
UNFINISHED = re.compile(r".*\.partial|\.unfinished-.*|\..*\.lock|ckpt-\d+_temp|__autograph_generated.*|tmp.*")


@dataclasses.dataclass(frozen=True)
class Try:
    """A command line, what lies there beside the world's files, and what must happen.

    Attributes:
      script: module.
      flags: dict of flag -> value, as tests.scripts.command takes it.
      says: what the line of a refusal must have in it: the flag or the file, mostly; of a success, what must be said on
        standard output or error.
      files: dict of path -> what is there too: bytes or text of a file, or a function that makes it there, given the
        path.
      status: that the script must end with.
      after_work: whether lines may come before that of a refusal, such as progress bars.
      writes: regular expression of the files that may be new or changed.
      environment: dict of variables.
      text: standard input.
      arguments: other arguments.
    """

    script: str
    flags: Mapping
    says: str
    files: Mapping = dataclasses.field(default_factory=dict)
    status: int = 1
    after_work: bool = False
    writes: str = r"(?!)"
    environment: Mapping = dataclasses.field(default_factory=dict)
    text: str = ""
    arguments: tuple = ()

    @property
    def name(self):
        """Of the test: the script, and what is said."""
        return f"{self.script.rpartition('.')[2]}: {self.says}"


class Runner:
    """Runs tries in a world.

    Args:
      world: pathlib.Path of the folder in which they run; its files are as before after each.
      temporary: pathlib.Path of an empty folder for temporary files, which is to be empty after each.
    """

    def __init__(self, world, temporary):
        self._world, self._temporary = world, temporary
        self._whole = world.parent / "whole"  # to take from what a try that failed has spoilt
        shutil.copytree(world, self._whole)

    def run(self, each):
        """What of a Try did not behave: a list of str, empty if all did."""
        with self._files(each.files):
            before = snapshot(self._world)
            done = self._run(each)
            after = snapshot(self._world)
            changed = sorted(path for path in before | after if before.get(path) != after.get(path))
            found = [*self._wrong_end(each, done), *(
                f"new, changed or gone: {path}" for path in changed
                if UNFINISHED.fullmatch(os.path.basename(path)) or not re.fullmatch(each.writes, path))]
            found += [f"left in the folder of temporary files: {path}" for path in os.listdir(self._temporary)]
            for path in changed:  # as it was, for the next try
                self._remove(path)
        for path in changed:
            if (self._whole / path).is_file() and not (self._world / path).exists():
                (self._world / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(self._whole / path, self._world / path)
        self._sweep(set(before))
        if found:
            found.append(f"status {done.returncode}; standard output {done.stdout[-500:]!r}; "
                         f"standard error {done.stderr[-1500:]!r}")
        return found

    def _run(self, each):
        command = [*scripts.command(each.script, **each.flags), *each.arguments]
        environment = {"TMPDIR": str(self._temporary), **each.environment}
        return scripts.run(command, self._world, each.text, environment)

    @staticmethod
    def _wrong_end(each, done):
        """Yields what is wrong with the status of a try, and with what it says."""
        if done.returncode != each.status:
            yield f"status {each.status} was expected"
        if "Traceback (most recent" in done.stderr:
            yield "a traceback"
        if each.status == 0:
            if each.says not in done.stdout + done.stderr:
                yield f"does not say {each.says!r}"
            return
        lines = [line.rpartition("\r")[2] for line in done.stderr.splitlines() if line.strip()] or [""]
        if len(lines) > 1 and not each.after_work:
            yield "more than one line"
        if each.says not in lines[-1]:
            yield f"does not say {each.says!r}"
        if len(lines[-1]) > LONGEST_LINE:
            yield f"a line of {len(lines[-1])} characters"

    @contextlib.contextmanager
    def _files(self, files):
        """Within, these files lie in the world, in place of those of the same names."""
        with contextlib.ExitStack() as stack:
            for name, content in files.items():
                path = self._world / name
                kept = self._world.parent / f"kept-{len(os.listdir(self._world.parent))}"
                if os.path.lexists(path):
                    os.rename(path, kept)
                    stack.callback(os.rename, kept, path)
                path.parent.mkdir(parents=True, exist_ok=True)
                stack.callback(self._remove, name)
                if callable(content):
                    content(path)
                else:
                    path.write_bytes(content.encode() if isinstance(content, str) else content)
            yield

    def _remove(self, name):
        path = self._world / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif os.path.lexists(path):
            os.unlink(path)

    def _sweep(self, known):
        """Removes folders that a try has left and that were not there before, empty ones by now."""
        for folder, _, _ in os.walk(self._world, topdown=False):
            name = os.path.relpath(folder, self._world)
            if not os.listdir(folder) and f"{name}/" not in known and name != ".":
                os.rmdir(folder)


def snapshot(folder):
    """dict of the paths below a folder -> what tells their state."""
    found = {}
    for parent, folders, names in os.walk(folder):
        for name in folders:
            found[os.path.relpath(os.path.join(parent, name), folder) + "/"] = "folder"
        for name in names:
            path = os.path.join(parent, name)
            status = os.lstat(path)
            found[os.path.relpath(path, folder)] = (status.st_size, status.st_mtime_ns, status.st_ino)
    return {path: state for path, state in found.items()
            if state != "folder" or not os.listdir(os.path.join(folder, path))}  # of folders the empty ones


def world_folder(path):
    """The two folders of a Runner, pathlib.Path, below a new one."""
    world, temporary = path / "world", path / "temporary"
    for each in (world, temporary):
        each.mkdir()
    return world, pathlib.Path(temporary)
