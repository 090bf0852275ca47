"""SIGTERM and Ctrl-C during training.

Cluster managers send SIGTERM a few seconds before they take a machine away.
"""

import signal

from bert_tf.notes import write_line


class PreemptionExit(SystemExit):
    """Exit of the process, after its handler has saved the state.

    The status is the one that a shell reports for the signal.
    """

    def announce(self, folder, step):
        """Prints how to resume a run that has saved its `step`."""
        name = signal.Signals(self.code - 128).name
        write_line(
            f"{folder}: stopped by {name} and saved at step {step}; run the same command to resume"
        )


class Preemption:
    """Context manager for the main thread that defers the signals until training can stop.

    A second Ctrl-C ends the process at once, without saving.

    Args:
      includes_interrupt: bool. Whether to defer Ctrl-C too. In a cluster, it reaches only one of
        the workers, which must save together.

    Attributes:
      raises_immediately: bool. Whether a signal raises PreemptionExit instead of waiting for
        `check`.
    """

    def __init__(self, includes_interrupt=True):
        self._numbers = [signal.SIGTERM, *([signal.SIGINT] if includes_interrupt else [])]
        self._received = None  # Number of the signal.
        self.raises_immediately = False

    def __enter__(self):
        self._previous = {
            number: signal.signal(number, self._handle_signal) for number in self._numbers
        }
        return self

    def __exit__(self, *exception):
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def check(self):
        """Raises PreemptionExit if a signal was received."""
        if self._received:
            raise PreemptionExit(128 + self._received)

    def _handle_signal(self, number, frame):
        del frame
        self._received = number
        if number == signal.SIGINT:
            signal.signal(number, self._previous[number])
        if self.raises_immediately:
            self.check()
