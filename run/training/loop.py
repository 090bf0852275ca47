"""A training run: its start or resumption, and the loop of steps, checkpoints, evaluations,
logs, and curves."""

import contextlib
import functools
import math
import os
import signal
import sys
import threading
import time

import tensorflow as tf
from tqdm import tqdm

from bert_tf import files
from bert_tf.checkpoints import load_pretrained
from bert_tf.errors import InputError
from bert_tf.latest_checkpoint import find_latest_checkpoint
from bert_tf.optimization import create_optimizer
from run.evaluation.results import select_distinct
from run.settings.training import MOST_LOG_STEPS
from run.training import clusters, logs, strategies
from run.training.checkpoints import BestWeights, CheckpointManager, find_not_finite
from run.training.preemption import Preemption, PreemptionExit
from run.training.step import Trainer

COMPILING = "compiling the first step"  # Shown in the progress bar.
BAR_SECONDS = 0.5  # Time between two updates of the progress bar.


class DivergedError(InputError):
    """The loss, a gradient, or a weight is not finite."""


def open_run(
    settings,
    strategy,
    make_model,
    loss,
    techniques=(),
    *,
    num_steps=None,
    num_warmup_steps=0,
    init_checkpoint=None,
    new_variables=(),
):
    """Creates a run's model and optimizer, and loads the weights of its last checkpoint, or the
    initial weights.

    Writes nothing, so that a rejected checkpoint changes no file.

    Args:
      settings: FineTuningSettings or PretrainingSettings. `training.output_dir` is the run's
        directory.
      strategy: tf.distribute.Strategy.
      make_model: Function without arguments -> model of bert_tf.models. Called in the strategy's
        scope.
      loss: `bert_tf.losses.TotalLoss` of the model's outputs.
      techniques: Techniques that change the run.
      num_steps: int. Step at which training ends. None if the run is not trained; then there is no
        optimizer state.
      num_warmup_steps: int. Number of warm-up steps.
      init_checkpoint: Path that `load_pretrained` reads to initialize a new run, or None.
      new_variables: Names of variables that keep their initial values even if init_checkpoint
        contains them.

    Returns:
      Run.

    Raises:
      InputError: If the run's checkpoint, or init_checkpoint, is damaged or does not fit the model.
    """
    rates = settings.optimizer
    step = settings.step
    with strategy.scope():
        optimizer = create_optimizer(
            rates.learning_rate,
            num_steps or 1,
            num_warmup_steps,
            rates.optimizer,
            clip_norm=rates.clip_norm,
            weight_decay=rates.weight_decay_rate,
            decay_power=rates.decay_power,
            beta_2=rates.beta_2,
            scale_loss=step.mixed_precision == "float16",
        )
        run = Run(
            settings.training, step, strategy, make_model(), optimizer, loss, num_steps, techniques
        )
        for technique in techniques:
            technique.build(run)
        run.restore(init_checkpoint, new_variables)
    return run


@contextlib.contextmanager
def lock_run(output_dir, strategy, trains):
    """Keeps other processes from training in a directory, and explains the end of another worker,
    within a context.

    Args:
      output_dir: Path of the directory, which is created, and removed again if it is still empty
        after an error.
      strategy: tf.distribute.Strategy.
      trains: bool. Whether the context trains.

    Raises:
      InputError: If another process trains in the directory.
      LostWorkerError: If another worker of the cluster ends.
    """
    is_locked = trains and strategies.is_chief(strategy)
    with (
        files.folder_for(output_dir),
        clusters.explain_lost_workers(strategy, output_dir),
        files.lock_output("output_dir", output_dir) if is_locked else contextlib.nullcontext(),
    ):
        yield


class Run:
    """A training run in a directory. `open_run` creates it.

    Attributes:
      folder: Path of the directory.
      writes: bool. Whether this process is the worker that writes files.
      strategy: tf.distribute.Strategy.
      model: Model of bert_tf.models.
      optimizer: Optimizer of bert_tf.optimization. Its `iterations` count the finished steps.
      num_steps: int. Step at which training ends. None if the run is not trained.
      seed: int. Seed of the run.
      missing: Names of the model's variables that a new run did not find in init_checkpoint.

      Techniques can change the following before the weights are loaded:
      loss: `bert_tf.losses.TotalLoss` of the network's outputs.
      network: Callable that a training step runs, from features to the inputs of `loss`: the model,
        or an object that runs it. Its `trainable_variables` are trained.
      aside: Dict of name to trackable. Weights outside the model that are trained and saved in its
        checkpoints.
      init_layers: Layers of init_checkpoint that initialize the model's layers. See
        `load_pretrained`.
    """

    def __init__(self, training, step, strategy, model, optimizer, loss, num_steps, techniques=()):
        self._training = training
        self._step_settings = step
        self._techniques = techniques
        self.folder = training.output_dir
        self.seed = training.random_seed
        self.strategy = strategy
        self.writes = strategies.is_chief(strategy)
        self.model = model
        self.optimizer = optimizer
        self.loss = loss
        self.num_steps = num_steps
        self.network = model
        self.aside = {}
        self.init_layers = ()
        self.missing = ()

    def restore(self, init_checkpoint=None, new_variables=()):
        """Loads the weights. See `open_run` for the arguments. Call it in the strategy's scope."""
        self._best = BestWeights(self.folder, self.model, writes=self.writes)
        if self.num_steps:
            own = {id(variable) for variable in self.model.trainable_variables}
            self.optimizer.build(
                self.model.trainable_variables,
                [
                    variable
                    for variable in self.network.trainable_variables
                    if id(variable) not in own
                ],
            )
        self._manager = CheckpointManager(
            tf.train.Checkpoint(model=self.model, optimizer=self.optimizer, **self.aside),
            self.folder,
            writes=self.writes,
            in_part=not self.num_steps,
            max_to_keep=self._training.keep_checkpoint_max,
            step_counter=self.optimizer.iterations,
            checkpoint_interval=self._training.save_checkpoints_steps,
        )
        if not self._manager.restore_or_initialize() and init_checkpoint:
            report = load_pretrained(
                self.model, init_checkpoint, leave=new_variables, layers=self.init_layers
            )
            print(report, file=sys.stderr)
            self.missing = report.missing

    @property
    def step(self):
        """Number of finished steps, int."""
        return int(self.optimizer.iterations.numpy())

    def train(
        self,
        phases,
        evaluate=None,
        *,
        eval_steps=None,
        best_metric=None,
        early_stopping_evals=None,
        profiled_steps=None,
    ):
        """Trains to the last step, saves checkpoints and curves, and prints where it starts.

        On SIGTERM, which cluster managers send before they take a machine away, and on Ctrl-C, it
        saves a checkpoint after the current loop of steps (see `log_steps` of TrainingSettings) and
        ends the process; see Preemption.

        Args:
          phases: List of tuples in order: the first step of a phase, 0-based; its batch size over
            all replicas; and a function (skip_steps, HostShare) -> endless dataset of a host's rows
            of each batch, starting at batch `skip_steps` of the phase. See
            `run.training.host_batches`.
          evaluate: Function () -> dict of name to float, for every `eval_steps` steps and after the
            last; or None.
          eval_steps: int. Steps between evaluations. None evaluates once, after the last step.
          best_metric: str. Metric of the evaluation, where higher is better. The weights with the
            highest value are saved to best/, of equal values those with the lowest loss. None saves
            none.
          early_stopping_evals: int. Number of evaluations without improvement after which to stop.
            None never stops early.
          profiled_steps: Tuple of int. First and last step of a TensorBoard profile, 1-based. None
            for no profile.

        Returns:
          Result of the last call of `evaluate`, or None if it was not called.

        Raises:
          DivergedError: If a loss, a gradient, or a weight is not finite.
        """
        for technique in self._techniques:
            technique.begin(self)
        run_logs = logs.Logs(self.folder, self.step, self.writes)
        end_reason = functools.partial(
            self._find_end_reason, run_logs, best_metric, early_stopping_evals
        )
        if end_reason() and not (evaluate and self._must_evaluate(run_logs, eval_steps)):
            print(f"{self.folder}: {end_reason()}")
            run_logs.draw_curves()  # A run that was killed at its end may not have drawn them.
            return None
        if self.writes:
            files.at(self.folder).make_dirs()
        print(
            f"{self.folder}: resuming at step {self.step} of {self.num_steps}"
            if self.step
            else f"{self.folder}: starting a new run of {self.num_steps} steps"
        )
        strategies.hide_first_compilation()
        trainer = Trainer(
            self.strategy,
            self.network,
            self.optimizer,
            self.loss,
            accumulate_steps=self._step_settings.accumulate_steps,
            jit_compile=self._step_settings.jit_compile,
        )
        results = phase = None
        # An occasional line is enough for a log file.
        interval = 0.2 if sys.stderr.isatty() else 10
        is_cluster = isinstance(self.strategy, tf.distribute.MultiWorkerMirroredStrategy)
        with (
            tqdm(
                total=self.num_steps,
                initial=self.step,
                desc="training",
                unit="step",
                mininterval=interval,
                dynamic_ncols=True,
            ) as bar,
            Preemption(not is_cluster) as preemption,
        ):
            try:
                while True:
                    if evaluate and self._must_evaluate(run_logs, eval_steps):
                        # An evaluation does not need to be completed.
                        preemption.raises_immediately = True
                        results = {name: float(value) for name, value in evaluate().items()}
                        preemption.raises_immediately = False
                        self._keep_evaluation(results, best_metric, run_logs, bar)
                    if end_reason():
                        break
                    began_at = self.step
                    began = time.monotonic()
                    current_phase = [each for each in phases if each[0] <= began_at][-1]
                    if phase is not current_phase:
                        phase = first_step, batch_size, make_batches = current_phase
                        trainer.set_dataset(
                            functools.partial(
                                self._make_batches, make_batches, began_at - first_step
                            )
                        )
                        is_tpu = strategies.device_type(self.strategy) == "TPU"
                        bar.set_postfix_str(
                            f"{COMPILING}, which takes minutes" if is_tpu else COMPILING
                        )
                    with self._moving(bar), self._recording(profiled_steps):
                        means = trainer.train(
                            self._count_loop_steps(phases, evaluate and eval_steps, profiled_steps)
                        )
                    if trainer.first_bad_step:
                        run_logs.write()  # What led to this step, on a remote file system.
                        raise self._create_diverged_error(
                            trainer.first_bad_step, "the loss or a gradient is not a finite number"
                        )
                    speed = (self.step - began_at) / (time.monotonic() - began)
                    self._log_loop(means, speed, batch_size, run_logs, bar)
                    preemption.check()
                    if self.step % self._training.save_checkpoints_steps == 0:
                        self._save(run_logs)
                self._save(run_logs)
            except PreemptionExit as preempted:
                self._save(run_logs)
                bar.close()
                print(
                    f"{self.folder}: stopped by {signal.Signals(preempted.code - 128).name} and "
                    f"saved at step {self.step}; run the same command to resume",
                    file=sys.stderr,
                )
                raise
        run_logs.draw_curves()
        if self.step < self.num_steps:
            print(f"{self.folder}: {end_reason()}")
        return results

    @property
    def best_step(self):
        """Step of the weights in best/, int, or None if there are none."""
        return self._best.step

    def finish(self):
        """Restores a plain model after training or restoring."""
        for technique in self._techniques:
            technique.finish(self)

    def restore_best(self):
        """Restores the weights saved to best/; returns their step, or None if there are none."""
        strategies.wait_for_all_workers(self.strategy)  # The writing worker may not have finished.
        return self._best.restore()

    def free(self):
        """Frees the memory of weights and optimizer state. The model cannot be used afterwards."""
        strategies.free_memory([*self.model.variables, *self.optimizer.variables])

    def _make_batches(self, make_batches, skip_steps, share):
        """Creates the dataset of a phase with the additional features of techniques."""
        dataset = make_batches(skip_steps, share)
        for technique in self._techniques:
            dataset = technique.batches(dataset)
        return dataset

    def _find_end_reason(self, run_logs, best_metric, early_stopping_evals):
        """Returns why there is nothing to train, or None if there is."""
        if self.step >= self.num_steps:
            return (
                f"training is finished at step {self.step} of {self.num_steps}; to continue, "
                "increase the number of steps; to start again, choose another directory"
            )
        scores = [row.get(best_metric, -math.inf) for row in run_logs.evaluations.rows]
        if (
            early_stopping_evals
            and scores
            and len(scores) - 1 - scores.index(max(scores)) >= early_stopping_evals
        ):
            return (
                f"training stopped at step {self.step}: {best_metric} has not improved in "
                f"{early_stopping_evals} evaluations; the best is from step {self.best_step}"
            )
        return None

    def _must_evaluate(self, run_logs, eval_steps):
        """Returns whether this step requires an evaluation that an earlier, killed run has not
        finished."""
        is_due = self.step >= self.num_steps or (
            eval_steps and self.step and self.step % eval_steps == 0
        )
        return is_due and all(row["step"] != self.step for row in run_logs.evaluations.rows)

    def _log_loop(self, means, steps_per_second, batch_size, run_logs, bar):
        """Logs the means of a loop of steps, with their speed, and moves the bar."""
        examples = batch_size * steps_per_second
        tokens = means.pop("tokens") * steps_per_second
        run_logs.add_training(
            self.step,
            means,
            {
                "steps_per_second": steps_per_second,
                "examples_per_second": examples,
                "tokens_per_second": tokens,
            },
        )
        bar.set_postfix_str(
            f"loss {means['loss']:.3f}, {examples:.0f} examples/s, {tokens:,.0f} tokens/s",
            refresh=False,
        )
        bar.update(self.step - bar.n)

    def _keep_evaluation(self, results, best_metric, run_logs, bar):
        """Saves the weights if they are the best, and logs and prints results."""
        if best_metric:
            of_best = [row for row in run_logs.evaluations.rows if row["step"] == self.best_step]
            rank = lambda row: (row.get(best_metric, -math.inf), -row.get("loss", 0.0))
            if not of_best or rank(results) > rank(of_best[0]):
                self._best.save(self.step)
        # After this, a killed run does not evaluate this step again.
        run_logs.add_evaluation(self.step, results)
        bar.write(
            f"evaluation at step {self.step}: "
            + ", ".join(f"{name} {value:.4g}" for name, value in select_distinct(results).items())
        )

    @contextlib.contextmanager
    def _moving(self, bar):
        """Moves a progress bar of steps while a loop of steps runs.

        Not on a TPU, which gives no number meanwhile.
        """

        def move():
            while not stopped.wait(BAR_SECONDS):
                if bar.postfix == COMPILING and self.step > bar.n:
                    bar.set_postfix_str("", refresh=False)
                bar.update(self.step - bar.n)

        stopped = threading.Event()
        thread = threading.Thread(target=move, daemon=True)
        if strategies.device_type(self.strategy) != "TPU":
            thread.start()
        try:
            yield
        finally:
            stopped.set()
            if thread.is_alive():
                thread.join()

    def _recording(self, profiled_steps):
        """Returns a context that records a TensorBoard profile of a loop of steps, if the next
        step is in the range."""
        first, last = profiled_steps or (1, 0)
        if not (self.writes and first <= self.step + 1 <= last):
            return contextlib.nullcontext()
        print(
            f"{self.folder}: writing a profile; to view it, run tensorboard --logdir={self.folder}"
        )
        return tf.profiler.experimental.Profile(self.folder)

    def _count_loop_steps(self, phases, eval_steps, profiled_steps):
        """Returns the steps of the next loop, which runs in one call of a tf.function.

        Loops end at multiples of the settings, regardless of where a run was resumed. So the log
        has the same rows, and all workers run the same loops.
        """
        training = self._training
        step = self.step
        first_profiled, last_profiled = profiled_steps or (1, 0)
        ends = [self.num_steps, first_profiled - 1, last_profiled, *(first for first, *_ in phases)]
        log_steps = training.log_steps or min(MOST_LOG_STEPS, max(1, self.num_steps // 20))
        for interval in (
            log_steps,
            training.iterations_per_loop,
            training.save_checkpoints_steps,
            eval_steps,
        ):
            if interval:
                ends.append((step // interval + 1) * interval)
        return min(end for end in ends if end > step) - step

    def _save(self, run_logs):
        """Saves a checkpoint of this step, after the log, which a run that resumes from it
        requires up to its step."""
        run_logs.write()
        if not self._manager.must_save(self.step):
            return
        # The last update's loss was not checked yet.
        if name := find_not_finite(self.model.trainable_variables):
            raise self._create_diverged_error(self.step, f"{name} is no longer finite")
        self._manager.save(self.step)

    def _create_diverged_error(self, step, what):
        """Creates the DivergedError for a step."""
        last = find_latest_checkpoint(self.folder)
        state = (
            f"contains the checkpoint before it, {os.path.basename(last)}"
            if last
            else "has no checkpoint yet"
        )
        return DivergedError(
            f"step {step}: {what}; {self.folder} {state}; a lower `learning_rate` or a longer "
            "warm-up may help"
        )
