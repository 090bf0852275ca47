"""Runs of a task: a single run from its model to its results, and several runs over seeds."""

import dataclasses
import os
import statistics
from collections.abc import Callable

import tensorflow as tf

from bert_tf import files
from bert_tf.checkpoints import holds_adapters, load_pretrained
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.fast import FastEncoder
from bert_tf.model_folder import BEST_FOLDER
from run.arrays import prediction
from run.evaluation import results as evaluation_results
from run.finetuning.settings import SEARCH_FOLDER
from run.tasks.base import Task
from run.techniques.base import Build, Technique
from run.training import clusters, loop, strategies
from run.training.optimizer import make_optimizer

RESULTS_FILE = "eval_results.txt"


@dataclasses.dataclass(frozen=True)
class RunContext:
    """State that all runs of a command share.

    Attributes:
      strategy: tf.distribute.Strategy.
      config: BertConfig.
      task: Task that has read its data.
      techniques: Tuple of Technique, in the order in which they change a Build.
      new_variables: Names of the model's variables that are not loaded from init_checkpoint.
      begin: Callable without arguments, called before each training, when its model is initialized. Nothing is written
        before that, so a rejected checkpoint changes no files.
    """

    strategy: tf.distribute.Strategy
    config: BertConfig
    task: Task
    techniques: tuple[Technique, ...] = ()
    new_variables: tuple[str, ...] = ()
    begin: Callable[[], None] = lambda: None

    @property
    def writes(self):
        """True if this process is the worker that writes files."""
        return strategies.is_chief(self.strategy)


@dataclasses.dataclass(frozen=True)
class TrainedModel:
    """A trained model, ready for use.

    Attributes:
      model: Model of bert_tf.models with its final weights.
      optimizer: Optimizer that it was trained with.
      predictor: Predictor of the model.
      folder: Path of the run's directory.
      step: int. Step of the weights.
      results: Dict of name to float. Empty without evaluation.
      eval_outputs: Dict of arrays, outputs for the development data. None without evaluation.
    """

    model: object
    optimizer: object
    predictor: object
    folder: str
    step: int
    results: dict
    eval_outputs: dict | None

    def free(self):
        """Frees the memory of weights and optimizer state. The model cannot be used afterwards."""
        strategies.free_memory([*self.model.variables, *self.optimizer.variables])


def run_seeds(settings, context):
    """Trains and evaluates once per seed, and writes eval_results.txt.

    Args:
      settings: FineTuningSettings.
      context: RunContext.

    Returns:
      TrainedModel. The run with the best metric, or the first without evaluation.
    """
    metric = context.task.metric
    best, all_results = None, []
    for run in settings.runs:
        trained_model = run_once(run, context)
        write_results(trained_model.folder, context, trained_model.results)
        all_results.append(trained_model.results)
        if best is None or (trained_model.results and trained_model.results[metric] > best.results[metric]):
            best, trained_model = trained_model, best
        if trained_model is not None:
            trained_model.free()
    if len(all_results) > 1 and best.results:
        write_results(settings.training.output_dir, context, _mean_and_deviation(all_results))
        print(f"best of {len(all_results)} runs by {metric}: {best.folder}")
    return best


def run_once(settings, context):
    """Runs the training and evaluation that `settings` request, in the run's directory.

    Args:
      settings: FineTuningSettings, with the same data as `context.task`.
      context: RunContext.

    Returns:
      TrainedModel.

    Raises:
      InputError: If there is nothing to train, and no trained model to use.
      DivergedError: If a loss is not finite.
      LostWorkerError: If another worker of the cluster ends.
    """
    with clusters.explain_lost_workers(context.strategy, settings.training.output_dir):
        return _run_once(settings, context)


def _run_once(settings, context):
    """See `run_once`."""
    strategy, tuning, output_dir = context.strategy, settings.tuning, settings.training.output_dir
    task = context.task.replace_settings(settings)
    is_dynamic = strategies.may_group_by_length(settings, strategy)
    build = _make_build(settings, context, task)
    model, optimizer = build.model, build.optimizer
    predictor = prediction.Predictor(
        strategy, model, per_position=task.per_position, static_shapes=not is_dynamic, inputs=task.inputs)
    predict_eval = lambda: predictor(task.eval_features, task.eval_batch_size, "evaluating")
    training_run = _open_training_run(settings, context, build)
    if tuning.do_train:
        context.begin()
        task = context.task.replace_settings(settings)  # `begin` may have written its training data.
        try:
            training_run.train(
                _make_dataset_function(task, settings, context, static_shapes=not is_dynamic),
                evaluate=(lambda: task.score(predict_eval())) if tuning.eval_steps else None)
        except loop.DivergedError:
            strategies.free_memory([*model.variables, *optimizer.variables])
            raise
    elif not training_run.step:
        _check_trained(settings, [name for name in training_run.missing if task.needs(name)])
    best_step = training_run.restore_best()
    step = best_step or training_run.step
    restored = os.path.join(output_dir, BEST_FOLDER if best_step else "")
    if step and not tuning.do_train and holds_adapters(restored):
        load_pretrained(model, restored)  # Merges them.
    for technique in context.techniques:
        technique.finish(build, output_dir, context.writes)
    results, outputs = {}, None
    if task.eval_features is not None:
        outputs = predict_eval()
        results = {**task.score(outputs), "global_step": step}
    return TrainedModel(model, optimizer, predictor, settings.training.output_dir, step, results, outputs)


def _make_build(settings, context, task):
    """Creates the Build of a run: the model and the optimizer, with the changes of the techniques."""
    steps = settings.num_train_steps(task.num_train_examples) if settings.tuning.do_train else None
    with context.strategy.scope():
        model = task.new_model(lambda: _make_encoder(settings, context))
        optimizer = make_optimizer(settings.optimizer, settings.step, steps or 1,
                                   int((steps or 1) * settings.tuning.warmup_proportion))
        build = Build(model, optimizer, task.loss, settings.training.random_seed, steps)
        for technique in context.techniques:
            technique.build(build)
    return build


def _make_encoder(settings, context):
    """Creates the encoder of a run. Call it in the strategy's scope."""
    step = settings.step
    fast = strategies.choose_fast(
        context.strategy, context.config, step.jit_compile, step.mixed_precision != "float32",
        recompute=step.recompute_activations,
        remove_padding=strategies.may_group_by_length(settings, context.strategy))
    return FastEncoder(context.config, fast, seed=settings.training.random_seed, dtype=settings.step.dtype_policy)


def _make_dataset_function(task, settings, context, static_shapes):
    """Returns the `make_dataset` of a task's training. See loop.TrainingRun.train."""
    def make_dataset(first_step, share):
        seed = settings.training.random_seed
        dataset = task.training_batches(seed, first_step, share, static_shapes=static_shapes)
        for technique in context.techniques:
            dataset = technique.batches(dataset)
        return dataset
    return make_dataset


def write_results(folder, context, results):
    """Writes and prints eval_results.txt if there are results and this process writes files."""
    if context.writes and results:
        evaluation_results.write_results(os.path.join(folder, RESULTS_FILE), results)


def _open_training_run(settings, context, build):
    """Creates the loop.TrainingRun of a Build."""
    task, eval_steps = context.task.replace_settings(settings), settings.tuning.eval_steps
    evaluations = loop.Evaluations(
        eval_steps, task.metric if eval_steps else None, settings.tuning.early_stopping_evals)
    return loop.TrainingRun(
        context.strategy, build.model, build.optimizer, build.loss, settings.training, build.steps or 1,
        step_settings=settings.step, init_checkpoint=task.init_checkpoint, init_layers=build.init_layers,
        new_variables=context.new_variables, evaluations=evaluations, network=build.network, aside=build.aside,
        trains=build.steps is not None)


def _check_trained(settings, missing):
    """Raises InputError unless init_checkpoint has all task variables. `missing`: Names of variables it lacks."""
    output_dir, checkpoint = settings.training.output_dir, settings.model.init_checkpoint
    if not checkpoint:
        hint = "train first, or set `init_checkpoint`"
        if files.at(os.path.join(output_dir, "run_1")).exists():
            hint = "set `num_runs` as in training"
        if files.at(os.path.join(output_dir, SEARCH_FOLDER)).exists():
            hint = "set `search` to resume its unfinished search"
        raise InputError(f"contains no checkpoint to evaluate; {hint}", "output_dir", output_dir)
    if missing:
        raise InputError(f"`init_checkpoint`={checkpoint}: was not trained for this task; it lacks "
                         f"{', '.join(missing)}; set `do_train`, or set `output_dir` to a finished run")


def _mean_and_deviation(all_results):
    """Computes the mean of each result over runs, and its standard deviation as NAME_std."""
    results = {}
    for name in all_results[0]:
        values = [each[name] for each in all_results]
        results[name] = statistics.mean(values)
        results[f"{name}_std"] = statistics.stdev(values)
    return results
