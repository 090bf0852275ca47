"""The progress bar of a training run, with its texts."""

import contextlib
import sys
import threading

from tqdm import tqdm

from run.training.results import select_distinct

COMPILING = "compiling the first step"
UPDATE_SECONDS = 0.5  # Time between two updates while a loop of steps runs.
# Minimum time between two outputs. An occasional line is enough for a log file.
TERMINAL_SECONDS = 0.2
FILE_SECONDS = 10


def announce_start(folder, step, num_steps):
    """Prints where a run starts that has finished `step` of `num_steps` steps."""
    if step:
        print(f"{folder}: resuming at step {step} of {num_steps}")
    else:
        print(f"{folder}: starting a new run of {num_steps} steps")


class ProgressBar:
    """Context manager that shows the steps of a run on standard error.

    Args:
      num_steps: int. Step at which training ends.
      get_step: Function () -> int. The number of finished steps. Another thread calls it too.
      device: "CPU", "GPU", or "TPU". A TPU gives no number of steps while a loop of steps runs.
    """

    def __init__(self, num_steps, get_step, device):
        self._get_step = get_step
        self._is_tpu = device == "TPU"
        # The state is here, not in the bar: TQDM_DISABLE=1 in the environment disables the latter.
        self._shown_step = get_step()
        self._is_compiling = False
        self._bar = tqdm(
            total=num_steps,
            initial=self._shown_step,
            desc="training",
            unit="step",
            mininterval=TERMINAL_SECONDS if sys.stderr.isatty() else FILE_SECONDS,
            dynamic_ncols=True,
        )

    def __enter__(self):
        self._bar.__enter__()
        return self

    def __exit__(self, *exception):
        return self._bar.__exit__(*exception)

    def close(self):
        """Ends the bar, so that other lines can follow."""
        self._bar.close()

    def announce_compilation(self):
        """Shows that TensorFlow compiles the next step."""
        self._is_compiling = True
        self._bar.set_postfix_str(
            f"{COMPILING}, which takes minutes" if self._is_tpu else COMPILING
        )

    @contextlib.contextmanager
    def follow_steps(self):
        """Moves the bar while a loop of steps runs in this context, except on a TPU."""
        stopped = threading.Event()
        thread = threading.Thread(target=self._move_until, args=(stopped,), daemon=True)
        if not self._is_tpu:
            thread.start()
        try:
            yield
        finally:
            stopped.set()
            if thread.is_alive():
                thread.join()

    def show_loop(self, loss, examples_per_second, tokens_per_second):
        """Shows the mean loss and the speed of a loop of steps, and moves the bar to its end."""
        self._is_compiling = False
        self._bar.set_postfix_str(
            f"loss {loss:.3f}, {examples_per_second:.0f} examples/s, "
            f"{tokens_per_second:,.0f} tokens/s",
            refresh=False,
        )
        self._move()

    def write_evaluation(self, step, results):
        """Prints the results of an evaluation, dict of name to float, above the bar."""
        values = [f"{name} {value:.4g}" for name, value in select_distinct(results).items()]
        self._bar.write(f"evaluation at step {step}: {', '.join(values)}")

    def _move_until(self, stopped):
        """Moves the bar regularly until an event is set."""
        while not stopped.wait(UPDATE_SECONDS):
            if self._is_compiling and self._get_step() > self._shown_step:
                self._is_compiling = False
                self._bar.set_postfix_str("", refresh=False)
            self._move()

    def _move(self):
        step = self._get_step()
        self._bar.update(step - self._shown_step)
        self._shown_step = step
