"""The fine-tuning job: one run, several over seeds, a search, or an ensemble, and predictions.

Everything specific to a kind of task is in a run.finetuning.tasks.base.Task.
"""

import atexit
import dataclasses
import os
import shutil
import statistics
import tempfile
from typing import NamedTuple

import tensorflow as tf

from bert_tf import files
from bert_tf.checkpoints import ModelDirectory
from bert_tf.checkpoints.training_run import BEST_FOLDER, has_run
from bert_tf.cli.run_state import fingerprint
from bert_tf.errors import rename_argument
from bert_tf.tasks import KINDS
from run.finetuning.experiment import (
    Experiment,
    Trained,
    check_run,
    choose_run_padding,
    write_scores,
)
from run.finetuning.head import choose_new_variables, get_output_order
from run.finetuning.search import search
from run.finetuning.tasks import TASKS
from run.techniques.freezing import Freezing
from run.techniques.int8 import Int8
from run.techniques.lora import Lora
from run.techniques.rate_decay import RateDecay
from run.training import model_files, strategies
from run.training.loop import lock_run

COMPARED = ("keep_head", "eval_steps")  # Runs with different values would not be comparable.


class SeedRuns(NamedTuple):
    """Runs that differ by their seeds."""

    best: Trained  # By the task's metric; the first one without an evaluation.
    scores: dict  # Of the only run, or means and deviations; empty without an evaluation.


@tf.autograph.experimental.do_not_convert  # Contains nothing to convert.
def run(settings):
    """Trains, evaluates, and predicts.

    Args:
      settings: FineTuningSettings, resolved.

    Raises:
      InputError: If settings or data are incompatible with each other, the devices, or a run in
        output_dir; if a loss is not finite; or if there is no training and no checkpoint.
    """
    # Must precede all TensorFlow computation, such as tokenization.
    strategy = create_strategy(settings)
    run_experiment(open_experiment(settings, strategy))


def run_experiment(experiment):
    """Trains and evaluates the runs of a job, and predicts with the best one or the ensemble.

    The settings of its task determine the runs, one or several.

    Args:
      experiment: Experiment.

    Raises:
      InputError: See `run`.
    """
    task = experiment.task
    settings = task.settings
    if len(settings.runs) > 1 and settings.do_train:
        model_path = settings.model.init_checkpoint
        inputs = {
            "init_checkpoint": model_path and files.at(model_path).absolute(),
            **{name: settings.values()[name] for name in COMPARED},
        }
        experiment = dataclasses.replace(experiment, inputs=experiment.inputs | inputs)
    _check(settings, experiment)
    with lock_run(settings.training.output_dir, experiment.strategy, settings.do_train):
        if settings.ensemble:
            trained = average_ensemble(experiment)
        elif settings.search:
            trained = search(experiment)
        else:
            trained = run_seeds(experiment, settings.runs, settings.training.output_dir).best
        report(task, trained)
    if settings.runs == [settings] and settings.do_train and trained.run.writes:
        _print_next_commands(trained)


def run_seeds(experiment, runs, output_dir):
    """Trains and evaluates once per seed, and writes eval_results.txt.

    Args:
      experiment: Experiment.
      runs: List of FineTuningSettings, one per run.
      output_dir: Path of the directory for the means of several runs.

    Returns:
      SeedRuns.
    """
    settings = experiment.task.settings
    all_scores = []
    best = None
    for run_settings in runs:
        new = experiment.train_once(run_settings)
        write_scores(new.run.folder, new.scores, new.run.writes)
        if len(runs) > 1 and new.run.writes and settings.do_train:
            experiment.save_files(settings)
        all_scores.append(new.scores)
        best = keep_better(best, new, experiment.task.metric)
    if len(runs) == 1 or not best.scores:
        return SeedRuns(best, best.scores)
    scores = compute_mean_and_deviation(all_scores)
    write_scores(output_dir, scores, best.run.writes)
    print(f"best of {len(runs)} runs by {experiment.task.metric}: {best.run.folder}")
    return SeedRuns(best, scores)


def keep_better(best, new, metric):
    """Returns the better one of two Trained objects, and frees the memory of the other one.

    `best` is None for the first result. It is returned if the scores are equal or missing.
    """
    if best is None:
        return new
    if new.scores and new.scores[metric] > best.scores[metric]:
        best.run.free()
        return new
    new.run.free()
    return best


def average_ensemble(experiment):
    """Evaluates each run and the ensemble, and writes eval_results.txt (section 4.2).

    The probabilities of the ensemble are averages. The setting `ensemble` lists the runs.

    Returns:
      Trained, with the last run.
    """
    task = experiment.task
    settings = task.settings
    members = []
    for run_settings in settings.runs:
        with rename_argument(output_dir="ensemble"):
            member = experiment.train_once(run_settings)
        members.append(member)
        if member.scores:
            print(f"{member.run.folder}: {task.metric} = {member.scores[task.metric]:.4g}")

    def predict(*arguments):
        return task.average([member.predictor(*arguments) for member in members])

    if member.outputs is None:
        return Trained(member.run, predict, {}, None)
    outputs = task.average([member.outputs for member in members])
    scores = task.score(outputs)
    write_scores(settings.training.output_dir, scores, member.run.writes)
    return Trained(member.run, predict, scores, outputs)


def create_strategy(settings):
    """Creates the strategy of FineTuningSettings, and checks batch sizes against its replicas.

    Checks only the batch sizes in use.
    """
    strategy = strategies.make_strategy(settings.devices, settings.step_settings.mixed_precision)
    training = settings.training
    if settings.do_train:
        name = "search_batch_sizes" if settings.search else "train_batch_size"
        for run_settings in settings.runs:
            strategies.check_batch_size(
                name,
                run_settings.training.train_batch_size,
                strategy,
                settings.step_settings.accumulate_steps,
            )
    if settings.do_eval and not (
        settings.do_predict and TASKS[settings.task_settings.kind].evaluates_predictions
    ):
        strategies.check_batch_size("eval_batch_size", training.eval_batch_size, strategy)
    if settings.do_predict:
        size = settings.tuning.predict_batch_size
        strategies.check_batch_size("predict_batch_size", size, strategy)
    strategies.warn_about_slow_precision(
        settings.step_settings.mixed_precision, strategies.device_type(strategy)
    )
    return strategy


def open_experiment(settings, strategy, metadata=None):
    """Reads and checks all data; writes nothing.

    Args:
      settings: FineTuningSettings, resolved.
      strategy: tf.distribute.Strategy.
      metadata: TaskMetadata that the task follows. If None, uses the metadata of the weights if
        they are not trained.

    Returns:
      Experiment, whose task has the settings that the data resolve.
    """
    model_path = settings.model.init_checkpoint
    task = TASKS[settings.task_settings.kind].open(
        settings, metadata or _read_model_metadata(settings)
    )
    tokenizer = settings.tokenizer.read_tokenizer(model_path, settings.model.config)
    task = task.read(tokenizer, choose_run_padding(settings, strategy))
    settings = dataclasses.replace(settings, task_settings=task.data.resolved_settings)
    task = dataclasses.replace(task, settings=settings, folder=_results_dir(settings, strategy))
    experiment = Experiment(strategy, task, choose_techniques(settings))
    if not settings.do_train:
        return experiment
    inputs = fingerprint_training_files(task)
    for run_settings in settings.runs:
        run_settings.num_train_steps(task.num_train_examples)
    new_variables = ()
    output_order = ()
    if model_path and not all(
        has_run(run_settings.training.output_dir) for run_settings in settings.runs
    ):
        new_variables = choose_new_variables(
            task, model_path, settings.keep_head, settings.model.config
        )
        if not new_variables:
            output_order = get_output_order(task, model_path)
    return dataclasses.replace(
        experiment, inputs=inputs, new_variables=new_variables, output_order=output_order
    )


def fingerprint_training_files(task):
    """Returns dict of setting to the fingerprint of its training files."""
    return {name: fingerprint(paths) for name, paths in task.training_files.items()}


def choose_techniques(settings):
    """Returns the tuple of Techniques that FineTuningSettings require."""
    weights = settings.trained_weights
    techniques = []
    if weights.quantize_from_step is not None:
        techniques.append(Int8(weights.quantize_from_step))
    if weights.lora_rank:
        techniques.append(
            Lora(
                weights.lora_rank,
                KINDS[settings.task_settings.kind],
                settings.model.init_checkpoint,
                weights.freeze_layers or 0,
            )
        )
    elif weights.freeze_layers is not None:
        techniques.append(Freezing(weights.freeze_layers))
    if weights.layerwise_learning_rate_decay != 1:
        techniques.append(RateDecay(weights.layerwise_learning_rate_decay))
    return tuple(techniques)


def report(task, trained):
    """Writes the report on an evaluation, and the predictions, if they are requested."""
    if trained.outputs is not None and task.settings.do_eval:
        task.report(trained.outputs, task.folder)
    if task.settings.do_predict:
        task.predict(trained.predictor, trained.outputs, task.folder)


def _check(settings, experiment):
    """Raises InputError unless all runs can begin, or resume, or be evaluated; writes nothing."""
    if not any(
        model_files.has_started(run_settings.training.output_dir) for run_settings in settings.runs
    ):
        check_run(settings, experiment)
    for run_settings in settings.runs:
        with rename_argument(**({"output_dir": "ensemble"} if settings.ensemble else {})):
            check_run(run_settings, experiment)


def _print_next_commands(trained):
    """Prints the commands that use the model of a finished run."""
    folder = trained.run.folder
    last_step = trained.run.step
    if trained.scores.get("global_step", last_step) != last_step:
        folder = os.path.join(folder, BEST_FOLDER)
    print(
        f"to predict: python -m run.predict --model={folder} --input_file=texts.txt "
        "--output_file=predictions.jsonl"
    )
    print(
        f"to serve:   python -m run.export_saved_model --init_checkpoint={folder} "
        "--export_dir=export"
    )


def compute_mean_and_deviation(all_scores):
    """Computes the mean of each score over runs, and its standard deviation as NAME_std."""
    means = {}
    for name in all_scores[0]:
        values = [scores[name] for scores in all_scores]
        means[name] = statistics.mean(values)
        means[f"{name}_std"] = statistics.stdev(values)
    return means


def _read_model_metadata(settings):
    """Returns the TaskMetadata of weights that are used without training.

    They are from output_dir or init_checkpoint. Returns None in training, and if the metadata do
    not exist or have another kind.
    """
    if settings.do_train:
        return None
    folder = settings.runs[0].training.output_dir
    path = folder if has_run(folder) else settings.model.init_checkpoint
    metadata = ModelDirectory.open(path).task if path else None
    return metadata if metadata and metadata.kind == settings.task_settings.kind else None


def _results_dir(settings, strategy):
    """Returns the directory for results: output_dir, or a temporary one for non-chief workers."""
    if strategies.is_chief(strategy):
        return settings.training.output_dir
    folder = tempfile.mkdtemp(prefix="worker_")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
