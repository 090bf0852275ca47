"""The training loop, with checkpoints, resuming, evaluation, progress, and loss curves."""

import contextlib
import dataclasses
import os
import sys
import time

import tensorflow as tf
from tqdm import tqdm

from bert_tf import files
from bert_tf.checkpoints import load_pretrained
from bert_tf.errors import InputError
from bert_tf.latest_checkpoint import find_latest_checkpoint
from run.evaluation import plots
from run.settings import StepSettings
from run.training import metrics_log, strategies
from run.training.checkpoints import BestWeights, CheckpointManager, check_finite, find_not_finite
from run.training.preemption import Preemption, PreemptionExit
from run.training.profiling import Profile
from run.training.step import Trainer
from run.training.summaries import Summaries


@dataclasses.dataclass(frozen=True)
class Evaluations:
    """Settings for evaluations during training.

    Attributes:
      eval_steps: int. Steps between evaluations. None evaluates once, after the last step.
      best_metric: str. Metric of the evaluation, where higher is better. The weights with the highest value are saved
        to best/. None saves none.
      early_stopping_evals: int. Number of evaluations without improvement after which to stop. None never stops early.

    Raises:
      ValueError: If early stopping has no metric.
    """

    eval_steps: int | None = None
    best_metric: str | None = None
    early_stopping_evals: int | None = None

    def __post_init__(self):
        if self.early_stopping_evals and not self.best_metric:
            raise ValueError("`early_stopping_evals`: requires `best_metric`")


@dataclasses.dataclass(frozen=True)
class Phase:
    """A part of a run with one kind of batch.

    Attributes:
      first_step: int. Number of steps before the phase.
      make_dataset: Callable (skip_steps, HostShare) -> endless dataset of a host's rows of each batch, starting at
        batch `skip_steps` of the phase. See `run.training.host_batches`.
      batch_size: int. Examples per step, over all replicas.
    """

    first_step: int
    make_dataset: object
    batch_size: int


# Shown in the progress bar.
SAVING = "saving a checkpoint"
COMPILING = "compiling the first step"
COMPILING_FOR_MINUTES = f"{COMPILING}, which takes minutes"
_DEFAULT_STEP, _NO_EVALUATIONS = StepSettings(), Evaluations()


class DivergedError(InputError):
    """The loss or a gradient is not finite.

    Args:
      event: str. The step, and the value that is not finite.
      advice: str. The last checkpoint, and what to do.
    """

    def __init__(self, event, advice):
        super().__init__(f"{event}; {advice}")
        self.event = event


class TrainingRun:
    """A training run in a directory: new, or resumed from its latest checkpoint.

    Args:
      strategy: tf.distribute.Strategy under whose scope the model and the optimizer were created.
      model, optimizer, loss: See `Trainer`.
      settings: TrainingSettings. `output_dir` is the run's directory.
      num_train_steps: int. Step at which training ends.
      step_settings: StepSettings.
      evaluations: Evaluations.
      init_checkpoint: Path that `load_pretrained` reads to initialize a new run, or None.
      new_variables: Names of variables that keep their initial values even if init_checkpoint contains them.
      init_layers: Layers of init_checkpoint that initialize the model's layers. See `load_pretrained`.
      network: Model that a training step runs and trains instead of `model`. None for `model`.
      aside: Dict of name to object to save in the checkpoints with the model, for example the network's own variables.
      trains: bool. Whether the run will be trained. If False, restores only its weights, without optimizer state.

    Attributes:
      missing: Names of the model's variables that a new run did not find in `init_checkpoint`.
    """

    def __init__(self, strategy, model, optimizer, loss, settings, num_train_steps, *,
                 step_settings=_DEFAULT_STEP, evaluations=_NO_EVALUATIONS, init_checkpoint=None, new_variables=(),
                 init_layers=(), network=None, aside=None, trains=True):
        self._strategy = strategy
        self._settings = settings
        self._num_train_steps = num_train_steps
        self._evaluations = evaluations
        self._optimizer = optimizer
        self._trainable_variables = model.trainable_variables
        self._first_message = COMPILING_FOR_MINUTES if strategies.device_type(strategy) == "TPU" else COMPILING
        self._writes = strategies.is_chief(strategy)
        metrics_log.check(settings.output_dir)
        self._best = BestWeights(settings.output_dir, model, writes=self._writes)
        network = network or model
        self._trainer = Trainer(
            strategy, network, optimizer, loss,
            accumulate_steps=step_settings.accumulate_steps, jit_compile=step_settings.jit_compile,
            bfloat16_all_reduce=step_settings.bfloat16_all_reduce)
        self.missing = ()

        def initialize():
            if init_checkpoint:
                report = load_pretrained(model, init_checkpoint, leave=new_variables, layers=init_layers)
                print(report, file=sys.stderr)
                self.missing = report.missing

        with strategy.scope():
            own = {id(variable) for variable in model.trainable_variables}
            if trains:
                optimizer.build(model.trainable_variables,
                                [variable for variable in network.trainable_variables if id(variable) not in own])
            self._manager = CheckpointManager(
                tf.train.Checkpoint(model=model, optimizer=optimizer, **aside or {}), settings.output_dir,
                writes=self._writes, saving=self._saving, in_part=not trains, max_to_keep=settings.keep_checkpoint_max,
                step_counter=optimizer.iterations, checkpoint_interval=settings.save_checkpoints_steps,
                init_fn=initialize)
            if restored := self._manager.restore_or_initialize():
                check_finite(restored, self._trainable_variables)
        self._summaries = Summaries(settings.output_dir if self._writes else None, optimizer.iterations)
        self._log = None
        self._eval_log = None
        self._bar = None
        self._phases = self._phase = None
        self._is_first_loop = True  # The first loop of a phase includes compilation.
        self._preemption = None
        if settings.profiled_steps and trains and settings.profiled_steps[0] > num_train_steps:
            raise InputError(f"training ends at step {num_train_steps}; set earlier steps", "profile_steps",
                             settings.profile_steps)
        self._profile = Profile(settings.profiled_steps, settings.output_dir, self._writes)
        self._supersedes = False

    @property
    def step(self):
        """Number of finished steps, int."""
        return int(self._optimizer.iterations.numpy())

    def train(self, phases, evaluate=None):
        """Trains to the last step, saves checkpoints and curves, and prints where it starts.

        On SIGTERM, which cluster managers send before they take a machine away, it saves a checkpoint after the current
        loop of steps (see `log_steps` of TrainingSettings) and ends the process with status 143.

        Args:
          phases: List of Phase in order, the first at step 0; or the `make_dataset` of the only phase.
          evaluate: Callable () -> dict of name to float, for every `eval_steps` steps and after the last; or None.

        Returns:
          Result of the last call of `evaluate`, or None if it was not called.
        """
        folder = self._settings.output_dir
        if self._writes:
            files.at(folder).make_dirs()
        self._log = metrics_log.Log(folder, metrics_log.TRAINING_LOG, self.step, writes=self._writes)
        self._eval_log = metrics_log.Log(folder, metrics_log.EVALUATION_LOG, self.step, writes=self._writes)
        end_reason = self._get_end_reason()
        if end_reason and not (evaluate and self._evaluation_is_due()):
            print(f"{folder}: {end_reason}")
            self._draw_curves()  # A run that was killed at its end may not have drawn them.
            return None
        print(f"{folder}: resuming at step {self.step} of {self._num_train_steps}" if self.step else
              f"{folder}: starting a new run of {self._num_train_steps} steps")
        if evaluate is None and self._best.step is not None and not self._best.is_superseded:
            print(f"{folder}: ignoring the weights in best/ (step {self._best.step}), since training continues without "
                  "evaluations")
        self._supersedes = evaluate is None
        if evaluate:
            self._best.supersede(False)
        self._phases = phases if isinstance(phases, list) else [
            Phase(0, phases, self._settings.train_batch_size)]
        self._phase = None
        with tqdm(total=self._num_train_steps, initial=self.step, desc="training", unit="step",
                  dynamic_ncols=True) as self._bar, Preemption() as self._preemption:
            try:
                results = self._alternate_training_and_evaluation(evaluate)
            except PreemptionExit:
                self._save()
                self._bar.close()
                print(f"{folder}: stopped by SIGTERM and saved at step {self.step}; run the same command to resume",
                      file=sys.stderr)
                raise
            finally:
                self._profile.end()
        self._write_logs()
        self._draw_curves()
        if self.step < self._num_train_steps:
            print(f"{folder}: {self._get_end_reason()}")
        return results

    def _draw_curves(self):
        if self._writes:
            plots.loss_curves(self._settings.output_dir, self._log, self._eval_log)

    def restore_best(self):
        """Restores the weights saved to best/; returns their step, or None if there are none."""
        strategies.wait_for_all_workers(self._strategy)  # The writing worker may not have finished.
        return self._best.restore()

    def _alternate_training_and_evaluation(self, evaluate):
        """Trains from one evaluation to the next; returns the result of the last."""
        results = None
        while True:
            if evaluate and self._evaluation_is_due():
                results = self._evaluate(evaluate)
            if self._get_end_reason():
                break
            stop = self._begin_phase()
            if evaluate and self._evaluations.eval_steps:
                stop = min(stop, self.step + self._evaluations.eval_steps - self.step % self._evaluations.eval_steps)
            self._train_until(stop)
        self._save()
        return results

    def _begin_phase(self):
        """Switches to the batches of the current phase if necessary; returns the step at which the phase ends."""
        number = sum(phase.first_step <= self.step for phase in self._phases) - 1
        phase = self._phases[number]
        if phase is not self._phase:
            self._phase, skip_steps = phase, self.step - phase.first_step
            self._is_first_loop = True
            self._trainer.set_dataset(lambda share: phase.make_dataset(skip_steps, share))
        return min([self._num_train_steps, *(each.first_step for each in self._phases[number + 1:])])

    def _get_end_reason(self):
        """Returns why there is nothing to train, or None if there is."""
        if self.step >= self._num_train_steps:
            return (f"training is finished at step {self.step} of {self._num_train_steps}; to continue, increase the "
                    "number of steps; to start again, choose another directory")
        patience = self._evaluations.early_stopping_evals
        best = self._best.step
        if patience and best and sum(row["step"] > best for row in self._eval_log.rows) >= patience:
            return (f"training stopped at step {self.step}: {self._evaluations.best_metric} has not improved in "
                    f"{patience} evaluations; the best is from step {best}")
        return None

    def _evaluation_is_due(self):
        """Returns whether this step requires an evaluation that an earlier, killed run has not finished."""
        step, interval = self.step, self._evaluations.eval_steps
        due = step >= self._num_train_steps or (interval and step and step % interval == 0)
        return due and all(row["step"] != step for row in self._eval_log.rows)

    def _evaluate(self, evaluate):
        with self._preemption.raise_immediately():
            results = {name: float(value) for name, value in evaluate().items()}
        metric = self._evaluations.best_metric
        if metric:
            if metric not in results:
                raise ValueError(f"`best_metric`={metric!r}: must be one of {', '.join(sorted(results))}")
            if results[metric] > self._best.metrics.get(metric, float("-inf")):
                self._best.save(self.step, results)
        self._summaries.add(results, "eval")
        self._eval_log.add(self.step, results)
        self._eval_log.write()  # After this, a killed run does not evaluate this step again.
        self._bar.write(f"step {self.step}: " + ", ".join(f"{name} {value:.4g}" for name, value in results.items()))
        return results

    def _train_until(self, stop):
        """Trains until step `stop` and saves checkpoints.

        The steps of a loop run in one call of a tf.function. Loops end at multiples of the settings, regardless of
        where a run was resumed. So the log has the same rows, and all workers run the same loops.
        """
        settings = self._settings
        intervals = settings.log_steps, settings.iterations_per_loop, settings.save_checkpoints_steps
        while self.step < stop:
            began_at, began = self.step, time.monotonic()
            if self._is_first_loop:
                self._bar.set_postfix_str(self._first_message)
            self._profile.begin(began_at)
            losses = self._trainer.train(min(stop - began_at, self._profile.count_steps(began_at),
                                             *(every - began_at % every for every in intervals)))
            losses = {name: float(value) for name, value in losses.items()}
            self._profile.end(self.step)
            self._report_loop(losses, self.step - began_at, time.monotonic() - began)
            self._manager.save(self.step)

    def _save(self):
        self._manager.save(self.step, check_interval=False)

    @contextlib.contextmanager
    def _saving(self):
        """Writes the log before a checkpoint: a run that resumes from it requires the log up to its step.

        Raises:
          DivergedError: If the last update, whose loss has not been checked yet, left a weight that is not finite.
        """
        self._write_logs()
        if name := find_not_finite(self._trainable_variables):
            raise self._create_diverged_error(self.step, f"{name} is no longer finite")
        if self._bar is None:
            yield
            return
        postfix = self._bar.postfix
        self._bar.set_postfix_str(f"{postfix}, {SAVING}" if postfix else SAVING)
        try:
            yield
        finally:
            self._bar.set_postfix_str(postfix or "", refresh=False)

    def _write_logs(self):
        """Writes buffered additions to remote files."""
        if self._log is not None:
            self._log.write()
        self._summaries.write()

    def _report_loop(self, means, steps, seconds):
        """Reports a loop of steps.

        Args:
          means: Dict of name to float. Mean losses.
          steps: int. Number of steps.
          seconds: float. Duration.
        """
        first_bad_step = self._trainer.first_bad_step
        if first_bad_step:
            self._write_logs()  # They show what led to this step.
            raise self._create_diverged_error(first_bad_step, "the loss or a gradient is not a finite number")
        if self._supersedes:
            self._best.supersede(True)
        tokens = means.pop("tokens")
        self._log.add(self.step, means)
        per_second = steps / seconds
        rates = {} if self._is_first_loop else {
            "examples_per_second": self._phase.batch_size * per_second, "tokens_per_second": tokens * per_second}
        self._is_first_loop = False
        self._summaries.add({**means, **rates, "steps_per_second": per_second})
        self._bar.set_postfix_str(", ".join([f"loss {means['loss']:.3f}", *_format_rates(rates)]), refresh=False)
        self._bar.update(steps)
        self._preemption.check()

    def _create_diverged_error(self, step, what):
        """Creates the DivergedError for a step."""
        folder = self._settings.output_dir
        last = find_latest_checkpoint(folder)
        state = f"contains the checkpoint before it, {os.path.basename(last)}" if last else "has no checkpoint yet"
        return DivergedError(f"step {step}: {what}",
                             f"{folder} {state}; a lower `learning_rate` or a longer warm-up may help")


def _format_rates(rates):
    if not rates:
        return
    yield f"{rates['examples_per_second']:.0f} examples/s"
    yield f"{rates['tokens_per_second']:,.0f} tokens/s"
