"""A function applied to items in several threads, in their order; for functions that release the interpreter's lock."""

import collections
import concurrent.futures

AHEAD = 2  # items begun for each thread before the first of them must be done


def map_in_threads(function, items, num_threads):
    """Yields `function(item)` for each of `items`, in their order; a generator.

    Items are taken from their iterator by the caller's thread, and no more than AHEAD * num_threads of them, or of
    their results, exist at a time. With one thread, all is done by the caller's.

    Args:
      function: of one item.
      items: iterable.
      num_threads: at least 1.

    Raises:
      Exception: what `function` or `items` raised; of `items` at once, before results that are not ready.
    """
    if num_threads == 1:
        yield from map(function, items)
        return
    begun = collections.deque()
    with concurrent.futures.ThreadPoolExecutor(num_threads) as pool:
        try:
            for item in items:
                begun.append(pool.submit(function, item))
                if len(begun) == AHEAD * num_threads:
                    yield begun.popleft().result()
            while begun:
                yield begun.popleft().result()
        finally:
            for each in begun:
                each.cancel()
