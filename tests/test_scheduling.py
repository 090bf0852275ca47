"""The distribution of tests to processes."""

import pytest

from tests import scripts

pytestmark = pytest.mark.large

MODULE = """
import pytest

@pytest.mark.parametrize("number", range({number}))
def test_that_passes(number):
    pass
"""
CRASH = """
import os

def test_that_ends_its_process():
    os._exit(1)

def test_after():
    pass
"""


def test_a_test_that_ends_its_process_fails_alone(tmp_path):
    for number in range(8):
        (tmp_path / f"test_{number}.py").write_text(MODULE.format(number=3))
    (tmp_path / "test_4_with_crash.py").write_text(MODULE.format(number=3) + CRASH)
    done = scripts.run_python(
        *("-m", "pytest", "-n", 2, "--dist=loadscope", "--no-loadscope-reorder"),
        *("--max-worker-restart=2", "-p", "tests.scheduling", "-p", "no:cacheprovider", "-c"),
        *("/dev/null", "--rootdir", tmp_path, tmp_path),
        folder=tmp_path,
    )
    assert "1 failed, 28 passed" in done.stdout.splitlines()[-1]
    assert "crashed while running 'test_4_with_crash.py::test_that_ends_its" in done.stdout
