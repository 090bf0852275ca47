"""How many steps a training run makes before it looks up: shows where it is, saves, evaluates."""

import math
import time

SECONDS_PER_LOOP = 1.0  # the progress bar moves about once a second


class LoopLength:
    """How many steps orbit runs in one call: about a second's worth, never past a checkpoint.

    Args:
      save_checkpoints_steps: steps between two checkpoints.
      iterations_per_loop: most steps in one call.
      follows_clock: whether the number follows the clock; several workers must all run the same numbers, the most.
    """

    def __init__(self, save_checkpoints_steps, iterations_per_loop, follows_clock=True):
        self._save_checkpoints_steps = save_checkpoints_steps
        self._iterations_per_loop = iterations_per_loop
        self._follows_clock = follows_clock
        self._first_step = None  # of the loop under way
        self._started = None
        self._timed = None  # steps and seconds of the last loop

    def __call__(self, step):
        """Called by orbit before a loop that begins at `step`; returns its number of steps."""
        if not self._follows_clock:
            steps = self._iterations_per_loop
        elif self._timed is None:
            steps = 1  # this loop compiles
        elif self._timed[0] == 1:
            steps = 2  # the second can be timed
        else:
            steps, seconds = self._timed
            steps = min(max(1, math.floor(SECONDS_PER_LOOP * steps / seconds)), 2 * steps)  # one loop is weak evidence
        to_checkpoint = self._save_checkpoints_steps - step % self._save_checkpoints_steps
        self._first_step, self._started = step, time.monotonic()
        return min(steps, to_checkpoint, self._iterations_per_loop)

    def end(self, step):
        """To be called after the loop, which went up to `step`; returns its steps and seconds."""
        self._timed = step - self._first_step, time.monotonic() - self._started
        return self._timed
