"""The schedule of a training run: its phases, and the loops of steps that it consists of."""

import dataclasses

from bert_tf.cli.settings import Settings
from run.training.settings import DEFAULT_LOG_STEPS


@dataclasses.dataclass(frozen=True)
class Phase:
    """A phase of training, up to the first step of the next one.

    Attributes:
      first_step: int. First step, 0-based.
      settings: PretrainingSettings or FineTuningSettings of the phase.
      data: Object with a function `training_batches(skip_steps, share)`, which returns the endless
        dataset of a host's rows of each batch, starting at batch `skip_steps` of the phase. See
        `run.training.host_batches`. None before the data are read.
    """

    first_step: int
    settings: Settings
    data: object = None

    @property
    def batch_size(self):
        """Batch size over all replicas, int."""
        return self.settings.training.train_batch_size


class Schedule:
    """The loops of steps of a run; each loop is one call of a tf.function.

    Loops end at multiples of the settings, regardless of where a run was resumed. So the log has
    the same rows, and all workers run the same loops.

    Args:
      num_steps: int. Step at which training ends.
      phases: List of Phase, in order.
      training: TrainingSettings.
      eval_steps: int. Steps between evaluations, or None.
      profiled_steps: Tuple of int. First and last step of a profile, 1-based. None for no profile.
    """

    def __init__(self, num_steps, phases, training, eval_steps, profiled_steps):
        self._phases = phases
        self._first_profiled, self._last_profiled = profiled_steps or (1, 0)
        self._ends = [
            num_steps,
            self._first_profiled - 1,
            self._last_profiled,
            *(phase.first_step for phase in phases),
        ]
        intervals = (
            training.log_steps or min(DEFAULT_LOG_STEPS, max(1, num_steps // 20)),
            training.iterations_per_loop,
            training.save_checkpoints_steps,
            eval_steps,
        )
        self._intervals = [interval for interval in intervals if interval]

    def find_phase(self, step):
        """Returns the phase of the step after `step` finished ones."""
        return [phase for phase in self._phases if phase.first_step <= step][-1]

    def count_steps(self, step):
        """Returns the number of steps of the loop after `step` finished steps."""
        ends = [end for end in self._ends if end > step]
        ends += [(step // interval + 1) * interval for interval in self._intervals]
        return min(ends) - step

    def must_profile(self, step):
        """Returns whether to profile the loop after `step` finished steps."""
        return self._first_profiled <= step + 1 <= self._last_profiled
