"""A TensorBoard profile of some training steps."""

import sys

import tensorflow as tf


class Profile:
    """Records a range of training steps, on all devices of this process.

    Args:
      steps: Tuple of int, the first and last step, 1-based; None records nothing.
      folder: Path of the directory to write to.
      writes: bool. Whether this process records. All workers call `count_steps`, because they must run the same loops.
    """

    def __init__(self, steps, folder, writes=True):
        self._first, self._last = steps or (0, 0)
        self._folder = folder
        self._writes = writes
        self._is_recording = False

    def begin(self, step):
        """Starts to record if the step after `step` is the first one."""
        if self._writes and step + 1 == self._first:
            tf.profiler.experimental.start(self._folder)
            self._is_recording = True

    def count_steps(self, step):
        """Returns the number of steps from `step` to the next one where the recording starts or ends."""
        return next((end - step for end in (self._first - 1, self._last) if end > step), sys.maxsize)

    def end(self, step=None):
        """Writes the profile if `step` is the last one; without a step, if it was not written yet."""
        if self._is_recording and step in (None, self._last):
            self._is_recording = False
            tf.profiler.experimental.stop()
            print(f"{self._folder}: wrote a profile; to view it, run tensorboard --logdir={self._folder}")
