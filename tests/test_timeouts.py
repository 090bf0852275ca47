"""The limit of the time of a test."""

import pytest

from tests import scripts

pytestmark = pytest.mark.extra_large

TOY = """
import ctypes, time
import pytest

def test_before():
    pass

def test_that_waits():
    time.sleep(1000)

def test_that_holds_the_lock_of_the_interpreter():
    mutex = ctypes.create_string_buffer(64)
    for _ in range(2):  # The second call waits for the first one's lock.
        ctypes.PyDLL(None).pthread_mutex_lock(mutex)

@pytest.mark.parametrize("number", range(5))
def test_after(number):
    pass
"""
SHORT = "from tests import timeouts\ntimeouts.SECONDS_TO_FAIL = 1\n"


def test_a_test_that_hangs_fails_alone(tmp_path):
    (tmp_path / "test_toy.py").write_text(TOY)
    (tmp_path / "conftest.py").write_text(SHORT)
    (tmp_path / "toy.ini").write_text("[pytest]\ntimeout = 3\n")
    done = scripts.run_python(
        *("-m", "pytest", "-n", 2, "--max-worker-restart=2", "-p", "tests.timeouts"),
        *("-p", "no:cacheprovider", "-c", "toy.ini", "test_toy.py"),
        folder=tmp_path,
    )
    assert "2 failed, 6 passed" in done.stdout.splitlines()[-1]
    assert "FAILED test_toy.py::test_that_waits - Failed: Timeout" in done.stdout
    assert "crashed while running 'test_toy.py::test_that_holds_the_lock" in done.stdout
    assert "test_that_holds_the_lock" in done.stderr  # The stacks of the process that ended.
