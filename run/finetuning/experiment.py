"""The common parts of the runs of a fine-tuning job: training, evaluation, the best weights."""

import dataclasses
import os
from collections.abc import Callable

import tensorflow as tf

from bert_tf.checkpoints import (
    ModelDirectory,
    TokenizerFiles,
    holds_adapters,
    load_pretrained,
    task_metadata,
)
from bert_tf.checkpoints.training_run import BEST_FOLDER, has_run
from bert_tf.cli.run_state import RunState, snapshot
from bert_tf.errors import InputError
from bert_tf.fast import FastEncoder
from bert_tf.tasks.metadata import TASK_FILE
from run.finetuning.tasks.base import Task
from run.training import model_files, results, strategies
from run.training.evaluations import NO_EVALUATIONS, EvaluationPlan
from run.training.loop import DivergedError, Run, open_run
from run.training.padding import Padding
from run.training.prediction import Predictor
from run.training.results import RESULTS_FILE
from run.training.schedule import Phase

# Attributes of a task that a resumed run must match. Lengths may change.
FIXED_ATTRIBUTES = (
    "kind",
    "labels",
    "pairs",
    "multi_label",
    "do_lower_case",
    "strip_accents",
    "window_pooling",
)


@dataclasses.dataclass(frozen=True)
class Trained:
    """A trained model with its evaluation.

    Attributes:
      run: Run, with the weights that count.
      predictor: Predictor of the run's model, or a function like it.
      scores: Dict of name to float. Scores on the development data, empty without evaluation.
      outputs: Dict of arrays, the model's outputs for these data, or None.
    """

    run: Run
    predictor: Callable
    scores: dict
    outputs: dict | None


@dataclasses.dataclass(frozen=True)
class TrainingData:
    """The training batches of a Task, for a Phase."""

    task: Task
    padding: Padding

    def training_batches(self, skip_steps, share):
        """See Phase."""
        seed = self.task.settings.training.random_seed
        return self.task.training_batches(seed, skip_steps, share, self.padding)


@dataclasses.dataclass(frozen=True)
class Experiment:
    """The common parts of the runs of a job, which differ by their FineTuningSettings.

    Attributes:
      strategy: tf.distribute.Strategy.
      task: Task that has read its data.
      techniques: Tuple of Techniques that change each run.
      inputs: Dict of setting to JSON value that a resumed run must share, in addition to its
        settings, such as the `fingerprint` of its files.
      new_variables: Names of the model's variables that are not loaded from init_checkpoint.
      output_order: Indices of the outputs of init_checkpoint; see `load_pretrained`.
    """

    strategy: tf.distribute.Strategy
    task: Task
    techniques: tuple = ()
    inputs: dict = dataclasses.field(default_factory=dict)
    new_variables: tuple = ()
    output_order: tuple = ()

    def train_once(self, settings):
        """Trains and evaluates as `settings` request, in the run's directory.

        Args:
          settings: FineTuningSettings, with the same data as the task.

        Returns:
          Trained.

        Raises:
          InputError: If there is nothing to train, and no trained model to use.
          DivergedError: If a loss is not finite.
        """
        task = dataclasses.replace(self.task, settings=settings)
        run = self._open_run(settings, task)
        predictor = self.make_predictor(settings, run.model)

        def predict():
            return predictor(task.eval_features, task.eval_batch_size, "evaluating")

        if settings.do_train:
            self._train(run, settings, task, lambda: task.score(predict()))
        elif not run.step:
            _check_trained(settings, [name for name in run.missing if task.needs(name)])
        best_step = restore_best(run, settings)
        if task.eval_features is None:
            return Trained(run, predictor, {}, None)
        outputs = predict()
        scores = {**task.score(outputs), "global_step": best_step or run.step}
        return Trained(run, predictor, scores, outputs)

    def make_model(self, settings):
        """Creates the model of a run with its initial weights, in the strategy's scope."""
        encoder = make_encoder(settings, self.strategy)
        return self.task.make_model(encoder, self.task.metadata)

    def make_predictor(self, settings, model):
        """Creates the Predictor of a run's model."""
        return Predictor(
            self.strategy,
            model,
            per_position=self.task.per_position,
            padding=choose_run_padding(settings, self.strategy),
        )

    def begin(self, settings):
        """Writes the files of a run that precede its first checkpoint.

        Its model already has its weights: a checkpoint that cannot be loaded leaves no files.
        """
        self.make_state(settings).begin()
        self.save_files(settings)

    def save_files(self, settings):
        """Writes config, vocabulary, casing, and task.json to the directory of a run."""
        folder = settings.training.output_dir
        model_files.save_run_files(
            folder, settings.model.config, TokenizerFiles(settings.tokenizer.vocab_file)
        )
        task_metadata.keep(folder, self.task.metadata)

    def make_state(self, settings):
        """Creates the RunState of a run."""
        return RunState(settings.training.output_dir, snapshot(settings), self.inputs)

    def _open_run(self, settings, task):
        """Creates the model of a task, and opens its run."""
        num_steps = settings.num_train_steps(task.num_train_examples) if settings.do_train else None
        return open_run(
            settings,
            self.strategy,
            lambda: self.make_model(settings),
            task.loss,
            self.techniques,
            num_steps=num_steps,
            num_warmup_steps=int((num_steps or 0) * settings.tuning.warmup_proportion),
            init_checkpoint=settings.model.init_checkpoint,
            new_variables=self.new_variables,
            output_order=self.output_order,
            adds_tokens=settings.do_train and settings.added_tokens_file is not None,
        )

    def _train(self, run, settings, task, evaluate):
        """Trains the model of a Run.

        `evaluate`: Function () -> scores, dict of name to float.
        """
        tuning = settings.tuning
        if run.best_step and run.step < run.num_steps and not tuning.eval_steps:
            raise InputError(
                f"contains the best weights of evaluations, in {BEST_FOLDER}; set `eval_steps`, "
                "or delete them to continue without evaluations",
                "output_dir",
                run.folder,
            )
        if run.writes:
            self.begin(settings)
        task.write_training_data()
        data = TrainingData(task, choose_run_padding(settings, run.strategy))
        plan = NO_EVALUATIONS
        if tuning.eval_steps:
            plan = EvaluationPlan(
                evaluate, tuning.eval_steps, task.metric, tuning.early_stopping_evals
            )
        try:
            run.train([Phase(0, settings, data)], plan)
        except DivergedError:
            run.free()
            raise


def check_run(settings, experiment):
    """Raises InputError unless a run of a job can begin, or resume, in the output directory.

    Writes nothing.
    """
    folder = settings.training.output_dir
    config = settings.model.config
    tokenizer = TokenizerFiles(settings.tokenizer.vocab_file)
    if settings.do_train:
        model_files.check_directory(folder, config, tokenizer)
    check_metadata(folder, experiment.task.metadata)
    model_files.check_run_files(folder, config, tokenizer)
    if settings.do_train:
        experiment.make_state(settings)


def check_metadata(output_dir, metadata):
    """Raises InputError if `output_dir` contains the run of another task."""
    if not has_run(output_dir):
        return
    existing = ModelDirectory.open(output_dir).task
    if existing is None:
        raise InputError(
            f"contains a run, but no {TASK_FILE}, which describes its task; restore the file, or "
            "choose another directory",
            "output_dir",
            output_dir,
        )
    for name in FIXED_ATTRIBUTES:
        old = getattr(existing, name, None)
        new = getattr(metadata, name, None)
        if old != new:
            raise InputError(
                f"contains the run of another task, with {name} {old!r} instead of {new!r}; choose "
                "another directory",
                "output_dir",
                output_dir,
            )


def choose_run_padding(settings, strategy):
    """Chooses the Padding of FineTuningSettings for the devices of a strategy."""
    return strategies.choose_padding(
        strategy, settings.step_settings.jit_compile, settings.tuning.group_by_length
    )


def make_encoder(settings, strategy):
    """Creates the encoder of FineTuningSettings."""
    step_settings = settings.step_settings
    config = settings.model.config
    fast = strategies.choose_fast(
        strategy,
        config,
        choose_run_padding(settings, strategy),
        jit_compile=step_settings.jit_compile,
        in_16_bits=step_settings.is_16_bit,
        recompute=step_settings.recompute_activations,
    )
    return FastEncoder(
        config, fast, seed=settings.training.random_seed, dtype=step_settings.dtype_policy
    )


def restore_best(run, settings):
    """Gives the model the best weights if they were saved, and makes it a plain model.

    Returns their step, or None.
    """
    step = run.restore_best()
    restored = os.path.join(run.folder, BEST_FOLDER if step else "")
    if run.step and not settings.do_train and holds_adapters(restored):
        load_pretrained(run.model, restored)  # Merges them.
    run.finish()
    return step


def write_scores(folder, scores, writes=True):
    """Writes and prints eval_results.txt if there are scores and this process writes files."""
    if writes and scores:
        results.write_results(os.path.join(folder, RESULTS_FILE), scores)


def _check_trained(settings, missing):
    """Raises InputError unless init_checkpoint has all task variables.

    `missing`: Names of variables it lacks.
    """
    output_dir = settings.training.output_dir
    model_path = settings.model.init_checkpoint
    if not model_path:
        raise InputError(
            "contains no checkpoint to evaluate; train first, or set `init_checkpoint`",
            "output_dir",
            output_dir,
        )
    if missing:
        raise InputError(
            f"was not trained for this task; it lacks {', '.join(missing)}; set `do_train`, or "
            "set `output_dir` to a finished run",
            "init_checkpoint",
            model_path,
        )
