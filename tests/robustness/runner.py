"""Runs a script with hostile flags or files, and finds what it did wrong."""

import dataclasses
import os
import re
import shutil
from collections.abc import Mapping

from tests import scripts

LONGEST_LINE = 300  # Characters.
UNFINISHED = re.compile(r".*\.partial|\.unfinished-.*|\..*\.lock|ckpt-\d+_temp|__autograph_generated.*|tmp.*")


@dataclasses.dataclass(frozen=True)
class Try:
    """A command line, additional files, and the expected result.

    Attributes:
      script: Name of the module.
      flags: Dict of flag name to value, see tests.scripts.command.
      says: Part of the last line on standard error if status is 1, and of the output otherwise.
      files: Dict of path to bytes or text, which replace or join the files of the world.
      status: Exit status.
      writes: Regular expression of the files that may be new or changed.
      text: Standard input.
    """

    script: str
    flags: Mapping
    says: str
    files: Mapping = dataclasses.field(default_factory=dict)
    status: int = 1
    writes: str = r"(?!)"
    text: str = ""

    @property
    def name(self):
        return f"{self.script.rpartition('.')[2]}: {self.says}"


class Runner:
    """Runs each Try in a new copy of a world.

    Args:
      world: pathlib.Path of a directory that `world.make` filled.
      folder: pathlib.Path of an empty directory.
    """

    def __init__(self, world, folder):
        self._original = world
        self._world, self._temporary = make_folders(folder)

    def run(self, each):
        """Returns the lines that describe what was wrong."""
        shutil.rmtree(self._world)
        shutil.copytree(self._original, self._world, symlinks=True)
        for name, content in each.files.items():
            path = self._world / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        before = snapshot(self._world)
        command = scripts.command(each.script, **each.flags)
        done = scripts.run(command, self._world, each.text, {"TMPDIR": str(self._temporary)})
        after = snapshot(self._world)
        found = [*find_wrong_end(each, done), *(
            f"new, changed, or deleted: {path}" for path in sorted(before | after)
            if before.get(path) != after.get(path)
            and (UNFINISHED.fullmatch(os.path.basename(path)) or not re.fullmatch(each.writes, path)))]
        found += [f"left in the directory for temporary files: {path}" for path in os.listdir(self._temporary)]
        if found:
            found.append(f"status {done.returncode}; standard output {done.stdout[-500:]!r}; "
                         f"standard error {done.stderr[-1500:]!r}")
        return found


def find_wrong_end(each, done):
    """Yields the differences between the end of a process and the one that a Try expects."""
    if done.returncode != each.status:
        yield f"expected status {each.status}"
    if "Traceback (most recent" in done.stderr:
        yield "a traceback"
    line = done.stderr.strip().rpartition("\n")[2].rpartition("\r")[2]
    if each.says not in (line if each.status else done.stdout + done.stderr):
        yield f"does not say {each.says!r}"
    if each.status and len(line) > LONGEST_LINE:
        yield f"a line of {len(line)} characters"


def snapshot(folder):
    """Returns a dict of each file and each empty directory below a directory to its state."""
    found = {}
    for parent, folders, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            status = os.lstat(path)
            found[os.path.relpath(path, folder)] = status.st_size, status.st_mtime_ns, status.st_ino
        if not folders and not names:
            found[os.path.relpath(parent, folder)] = "empty"
    return found


def make_folders(path):
    """Creates the directories of a world and of its temporary files; returns both."""
    world, temporary = path / "world", path / "temporary"
    for each in (world, temporary):
        each.mkdir()
    return world, temporary
