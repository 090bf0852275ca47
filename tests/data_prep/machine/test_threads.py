"""Functions applied in threads: results in order, few items in advance, and errors."""

import contextlib
import operator
import threading
import time

import pytest

from data_prep.machine import map_in_threads


@pytest.mark.parametrize("num_threads", [1, 2, 5])
@pytest.mark.parametrize("num_items", [0, 1, 4, 30])
def test_results_are_in_order_and_few_items_are_taken_in_advance(num_threads, num_items):
    def square(item):
        time.sleep(0.002 * (item % 3))
        return item**2

    items, num_done = iter(range(num_items)), 0
    for result in map_in_threads(square, items, num_threads):
        assert result == num_done**2
        assert num_items - operator.length_hint(items) - num_done <= 2 * num_threads
        num_done += 1
    assert num_done == num_items


def test_threads_run_at_the_same_time():
    barrier = threading.Barrier(3, timeout=20)
    assert len({*map_in_threads(lambda item: barrier.wait(), range(6), 3)}) == 3


@pytest.mark.parametrize("num_threads", [1, 3])
def test_errors_and_an_early_end(num_threads):
    def items():
        yield from (1, 2, 0, 4)
        raise OSError("no more")

    results = map_in_threads(lambda item: 12 // item, (1, 2, 0, 4), num_threads)
    assert [next(results), next(results)] == [12, 6]
    with pytest.raises(ZeroDivisionError):
        next(results)
    with pytest.raises(OSError, match="no more"):
        list(map_in_threads(str, items(), num_threads))
    with contextlib.closing(map_in_threads(str, iter(int, 1), num_threads)) as endless:
        assert next(endless) == "0"
