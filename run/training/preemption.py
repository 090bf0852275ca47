"""SIGTERM during training, which cluster managers send a few seconds before they take a machine away."""

import contextlib
import signal
import threading

EXIT_STATUS = 128 + signal.SIGTERM  # Status that a shell reports for a process ended by SIGTERM.


class PreemptionExit(SystemExit):
    """Ends the process with EXIT_STATUS after its handler has saved the state."""

    def __init__(self):
        super().__init__(EXIT_STATUS)


class Preemption:
    """Context manager for the main thread that defers SIGTERM until training can stop."""

    def __init__(self):
        self._requested = False
        self._raises_immediately = False
        self._previous = None

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():  # Other threads cannot set handlers.
            self._previous = signal.signal(signal.SIGTERM, self._handle_signal)
        return self

    def __exit__(self, *exception):
        if self._previous is not None:
            signal.signal(signal.SIGTERM, self._previous)

    def check(self):
        """Raises PreemptionExit if SIGTERM was received."""
        if self._requested:
            raise PreemptionExit

    @contextlib.contextmanager
    def raise_immediately(self):
        """Makes SIGTERM raise PreemptionExit immediately within the context, where no work needs to be completed."""
        self.check()
        self._raises_immediately = True
        try:
            yield
        finally:
            self._raises_immediately = False

    def _handle_signal(self, number, frame):
        del number, frame
        self._requested = True
        if self._raises_immediately:
            raise PreemptionExit
