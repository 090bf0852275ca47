"""Invalid files end a script with status 1 and a line that names the file; unusual ones do not. No file is lost.

The scripts run in this process.
"""

import io
import re
import shutil
import sys
import tempfile

import pytest

from tests import scripts
from tests.robustness import tries, world
from tests.robustness.commands import COMMANDS, LONGEST_MESSAGE

pytestmark = pytest.mark.extra_large

TRIES = list(tries.make())


@pytest.fixture
def folder(world_folder, tmp_path, monkeypatch):
    """A copy of the world, the current directory. The directory for temporary files must be empty at the end."""
    folder, temporary = tmp_path / "world", tmp_path / "temporary"
    shutil.copytree(world_folder, folder, symlinks=True)
    temporary.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield folder
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(("command", "changes", "files", "message", "writes"), TRIES,
                         ids=[f"{command}: {message}" for command, _, _, message, _ in TRIES])
def test_try(folder, capsys, command, changes, files, message, writes):
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    before = world.snapshot(folder)
    package, flags = COMMANDS[command]
    status = scripts.run_main(f"{package}.{command}", **{**flags, **changes})
    output, errors = capsys.readouterr()
    assert status == int(writes is None), errors
    assert "Traceback (most recent" not in errors
    line = errors.strip().rpartition("\n")[2].rpartition("\r")[2]
    assert message in (line if status else output + errors)
    assert not status or len(line) <= LONGEST_MESSAGE
    after = world.snapshot(folder)
    changed = {path for path in before | after if before.get(path) != after.get(path)}
    assert [path for path in changed if writes is None or not re.fullmatch(writes, path)] == []


def test_standard_input_and_output(folder, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\n")))
    assert scripts.run_main("run.predict", model="served", input_file="-", output_file="-") == 0
    assert '"label"' in capsys.readouterr().out
