"""Functions applied in several processes: results, errors, and the end of the processes."""

import contextlib
import itertools
import os
import time

import pytest

from data_prep.processes import WAITING, map_in_processes
from tests.data_prep.worker_processes import is_alive, wait_until_dead

pytestmark = pytest.mark.large


def power(number, exponent=2):
    time.sleep(0.01 * (number % 3))
    return number**exponent


def fail_at_three(number):
    if number == 3:
        raise ValueError("three is invalid")
    return number


def get_pid(_):
    return os.getpid()


def meet(_, folder):
    """Waits up to 20 s for a second process that does the same."""
    (folder / str(os.getpid())).touch()
    deadline = time.monotonic() + 20
    while len(os.listdir(folder)) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    return os.getpid()


def test_results_and_items_in_advance():
    taken = []
    items = (taken.append(number) or number for number in itertools.count())
    with contextlib.closing(map_in_processes(power, items, 2, 3)) as results:
        for number, result in enumerate(itertools.islice(results, 9)):
            assert result == number**3
            assert len(taken) <= number + 2 * WAITING
    assert list(map_in_processes(power, [], 2)) == []


def test_all_processes_work_and_the_caller_waits(tmp_path):
    first, second = map_in_processes(meet, range(2), 2, tmp_path)
    assert len({first, second, os.getpid()}) == 3


def test_errors_of_workers_and_of_items():
    with pytest.raises(ValueError, match="three is invalid"):
        list(map_in_processes(fail_at_three, range(9), 2))
    with pytest.raises(ZeroDivisionError):
        list(map_in_processes(power, (1 // (2 - number) for number in range(9)), 2))


def test_workers_end_with_the_generator():
    results = map_in_processes(get_pid, itertools.count(), 2)
    workers = {next(results)}
    assert all(map(is_alive, workers))
    results.close()
    assert wait_until_dead(workers)
