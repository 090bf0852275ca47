"""A training run, new or resumed: its steps, logs, checkpoints, evaluations, and curves."""

import contextlib
import functools
import os
import time

import tensorflow as tf

from bert_tf import files
from bert_tf.checkpoints import load_pretrained
from bert_tf.checkpoints.training_run import find_latest_checkpoint
from bert_tf.errors import InputError
from bert_tf.notes import write_line
from bert_tf.optimization import create_optimizer
from run.training import clusters, logs, progress, strategies
from run.training.checkpoints import BestWeights, CheckpointManager, find_not_finite
from run.training.evaluations import NO_EVALUATIONS, Evaluations
from run.training.preemption import Preemption, PreemptionExit
from run.training.schedule import Schedule
from run.training.step import Trainer


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
    adds_tokens=False,
    output_order=(),
):
    """Creates a run's model and optimizer, and loads the weights.

    The weights come from the run's last checkpoint, or are the initial weights of a new run. Writes
    nothing, so that a rejected checkpoint changes no file.

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
      adds_tokens: Whether the model may have more word embeddings than init_checkpoint.
      output_order: See `load_pretrained`.

    Returns:
      Run.

    Raises:
      InputError: If the run's checkpoint, or init_checkpoint, is damaged or does not fit the model.
    """
    with strategy.scope():
        optimizer = _create_optimizer(settings, num_steps or 1, num_warmup_steps)
        run = Run(
            settings.training,
            settings.step_settings,
            strategy,
            make_model(),
            optimizer,
            loss,
            num_steps=num_steps,
            techniques=techniques,
        )
        for technique in techniques:
            technique.build(run)
        run.restore(init_checkpoint, new_variables, adds_tokens, output_order)
    return run


def _create_optimizer(settings, num_steps, num_warmup_steps):
    """Creates the optimizer. See `open_run` for the arguments."""
    rates = settings.optimizer
    return create_optimizer(
        rates.learning_rate,
        num_steps,
        num_warmup_steps,
        rates.optimizer,
        clip_norm=rates.clip_norm,
        weight_decay=rates.weight_decay_rate,
        decay_power=rates.decay_power,
        beta_2=rates.beta_2,
        scale_loss=settings.step_settings.mixed_precision == "float16",
    )


@contextlib.contextmanager
def lock_run(output_dir, strategy, trains):
    """Locks the directory of a run, and explains the end of another worker, within a context.

    No other process can train in a locked directory.

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
        checkpoints, whose readers ignore them, such as the projection from a student's hidden size
        to a teacher's.
      init_layers: Layers of init_checkpoint that initialize the model's layers. See
        `load_pretrained`.
    """

    def __init__(
        self, training, step_settings, strategy, model, optimizer, loss, *, num_steps, techniques=()
    ):
        self._training = training
        self._step_settings = step_settings
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

    def restore(self, init_checkpoint=None, new_variables=(), adds_tokens=False, output_order=()):
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
                self.model,
                init_checkpoint,
                leave=new_variables,
                layers=self.init_layers,
                adds_tokens=adds_tokens,
                output_order=output_order,
            )
            write_line(report)
            self.missing = report.missing

    @property
    def step(self):
        """Number of finished steps, int."""
        return int(self.optimizer.iterations.numpy())

    def train(self, phases, plan=NO_EVALUATIONS, profiled_steps=None):
        """Trains to the last step, saves checkpoints and curves, and prints where it starts.

        On SIGTERM and on Ctrl-C, it saves a checkpoint after the current loop of steps (see
        `log_steps` of TrainingSettings) and ends the process; see Preemption.

        Args:
          phases: List of `run.training.schedule.Phase`, in order.
          plan: EvaluationPlan. Evaluations every some steps and after the last.
          profiled_steps: Tuple of int. First and last step of a TensorBoard profile, 1-based. None
            for no profile.

        Returns:
          Results of the last evaluation, or None if there was none.

        Raises:
          DivergedError: If a loss, a gradient, or a weight is not finite.
        """
        for technique in self._techniques:
            technique.begin(self)
        run_logs = logs.Logs(self.folder, self.step, self.writes)
        evaluations = Evaluations(run_logs, self._best, self.num_steps, plan)
        schedule = Schedule(self.num_steps, phases, self._training, plan.interval, profiled_steps)
        reason = evaluations.explain_end(self.step)
        results = None
        if not reason or evaluations.is_due(self.step):
            progress.announce_start(self.folder, self.step, self.num_steps)
            results = self._train_to_end(schedule, evaluations, run_logs)
            reason = evaluations.explain_early_stop(self.step)
        run_logs.plot_curves()  # A run that was killed at its end may not have plotted them.
        if reason:
            print(f"{self.folder}: {reason}")
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

    def _train_to_end(self, schedule, evaluations, run_logs):
        """Trains until there is a reason to end, and returns the results of the last evaluation."""
        if self.writes:
            files.at(self.folder).make_dirs()
        trainer = self._make_trainer()
        device = strategies.device_type(self.strategy)
        is_cluster = isinstance(self.strategy, tf.distribute.MultiWorkerMirroredStrategy)
        phase = results = None
        with (
            progress.ProgressBar(self.num_steps, lambda: self.step, device) as bar,
            Preemption(not is_cluster) as preemption,
        ):
            try:
                while True:
                    if evaluations.is_due(self.step):
                        results = self._evaluate(evaluations, preemption, bar)
                    if evaluations.explain_end(self.step):
                        break
                    first_step = self.step
                    began = time.monotonic()
                    if phase is not schedule.find_phase(self.step):
                        phase = schedule.find_phase(self.step)
                        self._begin_phase(phase, trainer, bar)
                    with (
                        bar.follow_steps(),
                        run_logs.record_profile(schedule.must_profile(self.step)),
                    ):
                        values = trainer.train(schedule.count_steps(self.step))
                    self._check_steps(trainer, run_logs)
                    speed = (self.step - first_step) / (time.monotonic() - began)
                    self._log_loop(values, speed, phase.batch_size, run_logs, bar)
                    preemption.check()
                    if self.step % self._training.save_checkpoints_steps == 0:
                        self._save(run_logs)
                self._save(run_logs)
            except PreemptionExit as preempted:
                self._save(run_logs)
                bar.close()
                preempted.announce(self.folder, self.step)
                raise
        return results

    def _make_trainer(self):
        """Creates the Trainer of the network."""
        strategies.hide_first_compilation()
        return Trainer(
            self.strategy,
            self.network,
            self.optimizer,
            self.loss,
            accumulate_steps=self._step_settings.accumulate_steps,
            jit_compile=self._step_settings.jit_compile,
        )

    def _begin_phase(self, phase, trainer, bar):
        """Sets the batches of a phase, and shows that its first step is compiled."""
        trainer.set_dataset(
            functools.partial(self._make_batches, phase, self.step - phase.first_step)
        )
        bar.announce_compilation()

    def _make_batches(self, phase, skip_steps, share):
        """Creates the dataset of a phase with the additional features of techniques."""
        dataset = phase.data.training_batches(skip_steps, share)
        for technique in self._techniques:
            dataset = technique.batches(dataset)
        return dataset

    def _evaluate(self, evaluations, preemption, bar):
        """Evaluates, keeps and prints the results, and returns them."""
        preemption.raises_immediately = True  # An evaluation does not need to be completed.
        try:
            results = evaluations.run()
        finally:  # The checkpoint that follows does.
            preemption.raises_immediately = False
        evaluations.keep(self.step, results)
        bar.write_evaluation(self.step, results)
        return results

    def _log_loop(self, values, steps_per_second, batch_size, run_logs, bar):
        """Logs the values of a loop of steps, with their speed, and moves the bar."""
        examples = batch_size * steps_per_second
        tokens = values.pop("tokens") * steps_per_second
        run_logs.add_training(
            self.step,
            values,
            {
                "steps_per_second": steps_per_second,
                "examples_per_second": examples,
                "tokens_per_second": tokens,
            },
        )
        bar.show_loop(values["loss"], examples, tokens)

    def _check_steps(self, trainer, run_logs):
        """Raises DivergedError if a step had a loss or a gradient that is not finite."""
        if trainer.first_bad_step:
            run_logs.write()  # What led to this step, on a remote file system.
            raise self._create_diverged_error(
                trainer.first_bad_step, "the loss or a gradient is not a finite number"
            )

    def _save(self, run_logs):
        """Saves a checkpoint of this step, after the log.

        A run that resumes from the checkpoint requires the log up to its step. Training waits for
        the checkpoint: a thread would require a copy of all variables, and a second way to resume.
        """
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
