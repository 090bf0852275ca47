"""Parallel map over processes, which end with this one, even if it is killed."""

import collections
import concurrent.futures
import contextlib
import multiprocessing
import os
import signal
import threading

from bert_tf import tensorflow_messages

# Maximum number per process of items in progress, and of results that wait for an earlier one.
WAITING = 8


def map_in_processes(function, items, num_workers, *arguments):
    """Yields `function(item, *arguments)` for each of `items`, in their order.

    Callers must close this generator. At most WAITING * num_workers items or results exist at a
    time. After an error or Ctrl-C, which only this process handles, the others are killed.

    Args:
      function: Picklable callable of a module.
      items: Iterable of picklable objects.
      num_workers: int. Maximum number of processes.
      *arguments: Picklable objects.

    Raises:
      Exception: If `function` or `items` raised it.
      ChildProcessError: If a worker was killed.
    """
    # Spawned, not forked: the caller may have loaded TensorFlow, whose threads do not survive a
    # fork. Each process imports the main module, which should import TensorFlow only in functions.
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    pool = concurrent.futures.ProcessPoolExecutor(num_workers, context, initializer=_prepare_worker)
    pending = collections.deque()
    try:
        for item in items:
            with _block_interrupts():  # This can start a worker, which inherits the mask.
                pending.append(pool.submit(function, item, *arguments))
            while pending and (pending[0].done() or len(pending) == WAITING * num_workers):
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    except BaseException as error:
        for worker in set(multiprocessing.active_children()) - others:
            worker.kill()
        if isinstance(error, concurrent.futures.BrokenExecutor):
            raise ChildProcessError(
                "a worker process was killed, often for lack of memory; to continue, run the same "
                "command again"
            ) from None
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextlib.contextmanager
def _block_interrupts():
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _prepare_worker():
    """Makes a worker exit with its parent, even if the parent is killed, and quiet."""

    def end_with_parent():
        multiprocessing.parent_process().join()
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
    tensorflow_messages.hide_at_import()
