"""SIGTERM during training: cluster managers send it some seconds before they take a machine away."""

import contextlib
import signal
import threading

EXIT_STATUS = 128 + signal.SIGTERM  # what a shell reports for a process ended by SIGTERM


class Preempted(SystemExit):
    """Ends the process with EXIT_STATUS, once whoever catches it has saved its state."""

    def __init__(self):
        super().__init__(EXIT_STATUS)


class Preemption:
    """Notes SIGTERM, until a point where training can stop; a context manager for the main thread."""

    def __init__(self):
        self._requested = False
        self._at_once = False
        self._previous = None

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():  # others may set no handlers
            self._previous = signal.signal(signal.SIGTERM, self._on_signal)
        return self

    def __exit__(self, *exception):
        if self._previous is not None:
            signal.signal(signal.SIGTERM, self._previous)

    @property
    def is_requested(self):
        """Whether SIGTERM has come."""
        return self._requested

    def check(self):
        """Raises Preempted if SIGTERM has come."""
        if self._requested:
            raise Preempted

    @contextlib.contextmanager
    def at_once(self):
        """Within, SIGTERM raises Preempted where it finds the program: there is nothing half-done to finish."""
        self.check()
        self._at_once = True
        try:
            yield
        finally:
            self._at_once = False

    def _on_signal(self, number, frame):
        del number, frame
        self._requested = True
        if self._at_once:
            raise Preempted
