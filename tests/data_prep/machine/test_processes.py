"""Functions applied in several processes: results, errors, and the end of the processes."""

import contextlib
import itertools
import os
import signal
import time

import pytest

from data_prep.machine import processes


def square(number):
    time.sleep(0.01 * (number % 3))
    return number * number


def fail_at_three(number):
    if number == 3:
        raise ValueError("three is invalid")
    return number


def die(_):
    os.kill(os.getpid(), signal.SIGKILL)


def get_pid(_):
    return os.getpid()


def run(function, items, num_workers, in_order=True):
    with contextlib.closing(processes.map_in_processes(function, items, num_workers, in_order)) as results:
        yield from results


def is_alive(process):
    """Returns whether a process runs; False if it has ended and its parent has not waited for it."""
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until_dead(workers):
    """Waits up to 20 s; returns whether all processes have ended."""
    deadline = time.monotonic() + 20
    while any(map(is_alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not any(map(is_alive, workers))


@pytest.mark.parametrize("num_workers", [1, 3])
def test_results(num_workers):
    expected = [number * number for number in range(11)]
    assert list(run(square, range(11), num_workers)) == expected
    assert sorted(run(square, range(11), num_workers, in_order=False)) == expected
    assert list(run(square, [], num_workers)) == []


@pytest.mark.parametrize("in_order", [True, False])
def test_few_items_are_taken_in_advance(in_order):
    taken = []
    items = (taken.append(number) or number for number in itertools.count())
    with contextlib.closing(processes.map_in_processes(square, items, 2, in_order)) as results:
        for num_results, _ in enumerate(itertools.islice(results, 9), start=1):
            # In progress or finished; one in the queue; one that the thread holds.
            assert len(taken) <= num_results + (4 if in_order else 2) + 2


def test_errors_of_workers_and_of_items():
    with pytest.raises(ValueError, match="three is invalid") as raised:
        list(run(fail_at_three, range(9), 2))
    assert "fail_at_three" in raised.value.__notes__[0]
    with pytest.raises(ZeroDivisionError):
        list(run(square, (1 // (2 - number) for number in range(9)), 2))
    with pytest.raises(ChildProcessError, match=r"a worker process exited .*\(exit code -9; "):
        list(run(die, range(3), 2))


def test_workers_end_with_the_generator():
    results = processes.map_in_processes(get_pid, itertools.count(), 2)
    workers = {next(results) for _ in range(5)}
    assert all(map(is_alive, workers))
    results.close()
    assert not any(map(is_alive, workers))


def test_a_signal_during_a_read_of_prefetched_items_does_not_block_the_end(monkeypatch):
    with pytest.raises(KeyboardInterrupt), processes._Prefetcher(range(9)) as items:  # noqa: PT012 (the context ends)
        assert next(items) == 0
        take = items._queue._get

        def take_and_raise():
            take()
            raise KeyboardInterrupt  # Between taking an item and notifying the thread that waits for its place.

        time.sleep(0.2)
        monkeypatch.setattr(items._queue, "_get", take_and_raise)
        try:
            next(items)
        finally:
            monkeypatch.undo()
