"""Parallel map over threads, in order, for functions that release the interpreter's lock."""

import collections
import concurrent.futures

AHEAD = 2  # Items in progress per thread, until the first of them is done.


def map_in_threads(function, items, num_threads):
    """Yields `function(item)` for each of `items`, in their order; a generator.

    The caller's thread iterates over the items. At most AHEAD * num_threads items, or their results, exist at a time.
    With one thread, everything runs in the caller's thread.

    Args:
      function: Callable of one item.
      items: Iterable.
      num_threads: int. At least 1.

    Raises:
      Exception: If `function` or `items` raised it. Errors of `items` come at once, before unfinished results.
    """
    if num_threads == 1:
        yield from map(function, items)
        return
    pending = collections.deque()
    with concurrent.futures.ThreadPoolExecutor(num_threads) as pool:
        try:
            for item in items:
                pending.append(pool.submit(function, item))
                if len(pending) == AHEAD * num_threads:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()
