"""Compiled functions: the location of their code, also if it cannot be written."""

import os
import subprocess
import sys

import pytest

from tests import scripts

pytestmark = pytest.mark.extra_large

MODULE = """
from data_prep.compilation import compiled

@compiled
def twice(number):
    return add(number, number)

def add(number, other):
    return number + other

if __name__ == "__main__":
    print(twice(3), twice(0.5))
"""


def run(path, **environment):
    """Returns the lines that a program with MODULE prints, with numba's messages on its cache."""
    path.write_text(MODULE)
    os.utime(path, (1, 1))
    done = subprocess.run(
        [sys.executable, path],
        capture_output=True,
        text=True,
        check=True,
        env={
            **os.environ,
            "PYTHONPATH": str(scripts.ROOT),
            "NUMBA_DEBUG_CACHE": "1",
            **environment,
        },
    )
    return done.stdout.splitlines()


def test_code_is_stored_next_to_the_source(tmp_path):
    first, second = (run(tmp_path / "a.py") for _ in range(2))
    for printed in (first, second):
        assert "6 1.0" in printed
    assert sum("data saved to" in line for line in first) == 2  # for integers, for floats
    assert not any("data saved to" in line for line in second)
    assert sum("data loaded from" in line for line in second) == 2
    assert [path.name for path in tmp_path.iterdir() if path.name != "a.py"] == ["__pycache__"]


def test_functions_run_if_no_directory_can_be_written(tmp_path):
    printed = run(
        tmp_path / "a.py",
        XDG_CACHE_HOME="/dev/null/none",
        NUMBA_CACHE_LOCATOR_CLASSES="UserProvidedCacheLocator,UserWideCacheLocator",
    )
    assert "6 1.0" in printed
    assert not any("data saved to" in line for line in printed)
