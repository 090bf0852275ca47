"""Parallel map over processes: bounded memory, no orphan processes, and the first error ends the map.

`concurrent.futures.ProcessPoolExecutor` waits for running calls when it stops. Before Python 3.11.5, it waited
forever if a large item was on its way to a worker that died.
"""

import contextlib
import multiprocessing
import os
import queue
import signal
import threading
import traceback
from multiprocessing import connection

AHEAD = 2  # Items in progress per worker, until the first of them is done, if order is kept.
SIGNAL_SECONDS = 1  # Maximum delay until a signal is noticed.
END_SECONDS = 5  # Time limit for a process that closed its connection to exit.


def map_in_processes(function, items, num_workers, in_order=True):
    """Yields `function(item)` for each of `items`; a generator, to be closed (contextlib.closing).

    A thread prefetches the items from their iterator, one at a time. At most num_workers + 2 items, and as many
    results (twice as many if order is kept), exist at a time. Workers start on demand. They exit when the generator
    does, or when this process is killed; Ctrl-C is handled by this process only.

    Args:
      function: Picklable callable of one item. Called in worker processes.
      items: Iterable of picklable objects.
      num_workers: int. Maximum number of processes.
      in_order: bool. Whether to yield results in the order of the items, instead of as they finish.

    Raises:
      Exception: If `function` or `items` raised it.
      ChildProcessError: If a worker was killed.
    """
    # Spawned, not forked: the caller may have loaded TensorFlow, whose threads do not survive a fork.
    context = multiprocessing.get_context("spawn")
    limit = AHEAD * num_workers if in_order else num_workers
    workers, results, num_sent, num_yielded, is_exhausted = [], {}, 0, 0, False
    with contextlib.ExitStack() as stack:
        ahead = stack.enter_context(_Prefetcher(items))
        stack.callback(_kill_workers, workers)
        while True:
            busy = [worker for worker in workers if worker.item is not None]
            if not is_exhausted and len(busy) < num_workers and len(busy) + len(results) < limit:
                worker = next((worker for worker in workers if worker.item is None), None)
                if worker is None:
                    worker = _Worker(context, function)
                    workers.append(worker)
                try:
                    worker.send(num_sent, next(ahead))
                    num_sent += 1
                except StopIteration:
                    is_exhausted = True
            elif busy:
                results.update(_wait(busy))
            while results and (not in_order or num_yielded in results):
                yield results.pop(num_yielded if in_order else min(results))
                num_yielded += 1
            if is_exhausted and num_yielded == num_sent:
                return


def _wait(busy):
    """Waits until at least one of the busy workers is done; returns dict of item index to result."""
    by_connection = {worker.connection: worker for worker in busy}
    done = []
    while not done:  # An endless wait would delay a Ctrl-C that comes just before it.
        done = connection.wait(by_connection, SIGNAL_SECONDS)
    return dict(by_connection[ready].receive() for ready in done)


def _kill_workers(workers):
    for worker in workers:
        worker.process.kill()
    for worker in workers:
        worker.process.join()


class _Worker:
    """A worker process. `item` is the index of the item in progress, or None while the worker is idle."""

    def __init__(self, context, function):
        self.item = None
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(function, theirs), daemon=True)
        # Workers inherit the mask. Until a worker ignores Ctrl-C, the signal would end it, with a traceback from
        # whatever it imports.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        theirs.close()

    def send(self, index, item):
        self.item = index
        with self._explain_exit():
            self.connection.send(item)

    def receive(self):
        """Returns (index, result) of the item sent last; raises the exception that the function raised."""
        with self._explain_exit():
            result, error = self.connection.recv()
        if error is not None:
            raise error
        index, self.item = self.item, None
        return index, result

    @contextlib.contextmanager
    def _explain_exit(self):
        try:
            yield
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self.process.join(END_SECONDS)
            raise ChildProcessError(f"a worker process exited before it finished (exit code "
                                    f"{self.process.exitcode}; -9 means killed, often for lack of memory)") from None


def _serve(function, to_parent):
    """Runs a worker: receives items and sends results until the parent closes the connection or exits."""
    _tie_to_parent()
    while True:
        try:
            item = to_parent.recv()
        except EOFError:
            return
        try:
            reply = function(item), None
        except Exception as error:
            error.add_note(f"in a worker process: {traceback.format_exc()}")
            reply = None, error
        del item  # Frees its memory before the next item arrives.
        to_parent.send(reply)


def _tie_to_parent():
    """Makes a worker ignore Ctrl-C and exit with its parent, even if the parent is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def end_with_parent():
        multiprocessing.parent_process().join()
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()


class _Prefetcher:
    """Iterates over items that a thread prefetches, one at a time; a context manager, which ends the thread."""

    def __init__(self, items):
        self._queue = queue.Queue(maxsize=1)
        self._is_stopped = threading.Event()
        self._thread = threading.Thread(target=self._prefetch, args=(iter(items),), daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._is_stopped.set()
        while self._thread.is_alive():
            with contextlib.suppress(queue.Empty):
                self._queue.get_nowait()  # So that the thread does not block on an item that is never consumed.
            with self._queue.not_full:
                self._queue.not_full.notify()  # A signal can end `Queue.get` after it took an item, before it notifies.
            self._thread.join(0.1)

    def __iter__(self):
        return self

    def __next__(self):
        item, error = self._queue.get()
        if error is not None:
            raise error
        return item

    def _prefetch(self, items):
        error = StopIteration()
        try:
            while not self._is_stopped.is_set():
                self._queue.put((next(items), None))
        except Exception as raised:
            error = raised
        if not self._is_stopped.is_set():
            self._queue.put((None, error))
