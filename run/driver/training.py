"""The training loop: orbit under a tf.distribute strategy, with checkpoints, resume, progress and curves."""

import contextlib
import dataclasses
import math
import sys
import time

import orbit
import tensorflow as tf
from tqdm import tqdm

from bert_tf.checkpoints import load_pretrained
from run.driver import curves
from run.driver.trainer import Trainer

SECONDS_PER_LOOP = 1.0  # the progress bar moves about once a second


@dataclasses.dataclass(frozen=True)
class TrainingSettings:
    """How long to train and what to keep.

    Attributes:
      output_dir: folder of checkpoints, `training_log.csv`, `loss.png` and TensorBoard scalars.
      num_train_steps: the step at which training ends.
      train_batch_size: examples in a step, over all replicas.
      save_checkpoints_steps: steps between two checkpoints.
      keep_checkpoint_max: how many of the newest checkpoints stay.
      iterations_per_loop: most steps in one call of the training function.
    """

    output_dir: str
    num_train_steps: int
    train_batch_size: int
    save_checkpoints_steps: int = 1000
    keep_checkpoint_max: int = 5
    iterations_per_loop: int = 1000


class TrainingRun:
    """A training run in a folder: new, or taken up where its newest checkpoint left it.

    Args:
      strategy: under whose scope the model and the optimizer were made.
      model, optimizer, loss_function, loss_names: see Trainer.
      settings: TrainingSettings.
      init_checkpoint: what `load_pretrained` reads, for a new run to start from; or None.
    """

    def __init__(self, strategy, model, optimizer, loss_function, loss_names, settings, init_checkpoint=None):
        self._settings = settings
        self._optimizer = optimizer
        self._trainer = Trainer(strategy, model, optimizer, loss_function, loss_names)
        def initialize():
            if init_checkpoint:
                print(load_pretrained(model, init_checkpoint), file=sys.stderr)

        with strategy.scope():
            optimizer.build(model.trainable_variables)
            manager = _CheckpointManager(
                tf.train.Checkpoint(model=model, optimizer=optimizer), settings.output_dir,
                max_to_keep=settings.keep_checkpoint_max, step_counter=optimizer.iterations,
                checkpoint_interval=settings.save_checkpoints_steps, init_fn=initialize)
        with _quiet_orbit():
            self._controller = orbit.Controller(  # restores, or initializes
                global_step=optimizer.iterations, trainer=self._trainer, strategy=strategy,
                steps_per_loop=_LoopLength(settings), checkpoint_manager=manager,
                train_actions=[self._after_loop], summary_dir=settings.output_dir)
        self._log = None
        self._bar = None
        self._loop_ended = None

    @property
    def step(self):
        """Steps done so far, int."""
        return int(self._optimizer.iterations.numpy())

    def train(self, make_dataset):
        """Trains to the last step, saving checkpoints and the loss curve on the way; says where it starts.

        Args:
          make_dataset: (skip_steps) -> endless dataset of batches of features, each of the size of all replicas
            together, beginning with the batch of step `skip_steps`.
        """
        print(self._describe())
        if self.step >= self._settings.num_train_steps:
            return
        self._trainer.set_dataset(make_dataset(self.step))
        self._log = curves.TrainingLog(self._settings.output_dir, self.step)
        self._loop_ended = time.monotonic()
        with (tqdm(total=self._settings.num_train_steps, initial=self.step, desc="training", unit="step",
                   dynamic_ncols=True) as self._bar, _quiet_orbit()):
            self._controller.train(self._settings.num_train_steps)
        self._log.plot()

    def _describe(self):
        folder, steps = self._settings.output_dir, self._settings.num_train_steps
        if self.step >= steps:
            return (f"{folder}: training is finished, at step {self.step} of {steps}; to train on, raise the number "
                    "of steps, to train anew, choose another folder")
        if self.step:
            return f"{folder}: going on from step {self.step} of {steps}"
        return f"{folder}: a new run of {steps} steps"

    def _after_loop(self, means):
        """Called by orbit with the mean losses of the loop of steps just run."""
        losses = {name: float(value) for name, value in means.items()}
        steps, now = self.step - self._bar.n, time.monotonic()
        rate = steps * self._settings.train_batch_size / (now - self._loop_ended)
        self._loop_ended = now
        self._log.add(self.step, losses)
        self._bar.set_postfix_str(f"loss {losses['loss']:.3f}, {rate:.0f} examples/s", refresh=False)
        self._bar.update(steps)


class _CheckpointManager(tf.train.CheckpointManager):
    """Saves at the multiples of its interval, where TensorFlow's own counts from the step it first saved at."""

    _last_saved = None

    def save(self, checkpoint_number=None, check_interval=True, options=None):
        """Called by orbit after each loop of steps, and with check_interval=False after the last."""
        due = not check_interval or checkpoint_number % self.checkpoint_interval == 0
        if not due or checkpoint_number == self._last_saved:
            return None
        self._last_saved = checkpoint_number
        return super().save(checkpoint_number, check_interval=False, options=options)


def _quiet_orbit():
    """Drops what orbit prints after each loop: the progress bar says it in one line."""
    return contextlib.redirect_stdout(None)


class _LoopLength:
    """How many steps orbit runs before it looks up: about a second's worth, never past a checkpoint."""

    def __init__(self, settings):
        self._settings = settings
        self._steps = 0  # of the loop under way
        self._started = None

    def __call__(self, step):
        now = time.monotonic()
        if self._steps < 2:
            steps = self._steps + 1  # the first loop compiles; the second, of two steps, can be timed
        else:
            seconds_per_step = (now - self._started) / self._steps
            steps = max(1, math.floor(SECONDS_PER_LOOP / seconds_per_step))
            steps = min(steps, 2 * self._steps)  # one quick loop is weak evidence
        to_checkpoint = self._settings.save_checkpoints_steps - step % self._settings.save_checkpoints_steps
        self._started = now
        self._steps = min(steps, to_checkpoint, self._settings.iterations_per_loop)
        return self._steps
