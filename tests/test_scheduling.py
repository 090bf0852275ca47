"""The distribution of tests to processes."""

import pytest

from tests import scripts

pytestmark = pytest.mark.extra_large

MODULE = """
import os
import pathlib
import pytest

@pytest.mark.parametrize("number", range(3))
def test_that_passes(number):
    pass
"""
ENDINGS = """
def test_whose_process_ends():
    os._exit(1)

def test_whose_process_ends_once(path=pathlib.Path("ended")):
    if not path.exists():
        path.touch()
        os._exit(1)

def test_after():
    pass
"""


def test_a_test_whose_process_ends_runs_once_more_and_fails_alone(tmp_path):
    for number in range(8):
        (tmp_path / f"test_{number}.py").write_text(MODULE)
    (tmp_path / "test_4_endings.py").write_text(MODULE + ENDINGS)
    done = scripts.run_python(
        *("-m", "pytest", "-n", 2, "--dist=loadscope", "--no-loadscope-reorder"),
        *("--max-worker-restart=4", "-p", "tests.scheduling", "-p", "no:cacheprovider", "-c"),
        *("/dev/null", "--rootdir", tmp_path, tmp_path),
        folder=tmp_path,
    )
    lines = done.stdout.splitlines()
    assert "1 failed, 29 passed" in lines[-1]
    assert "crashed while running 'test_4_endings.py::test_whose_process_ends'" in done.stdout
    assert [line for line in lines if line.startswith("note: ")] == [
        "note: a process ended during test_4_endings.py::test_whose_process_ends",
        "note: a process ended during test_4_endings.py::test_whose_process_ends",
        "note: a process ended during test_4_endings.py::test_whose_process_ends_once",
    ]
