"""The fine-tuning job: data, model, runs over seeds, evaluation, the best weights, predictions.

`run_task` is independent of the task. It calls a run.tasks.base.Task for everything task-specific.
"""

import atexit
import contextlib
import dataclasses
import functools
import os
import shutil
import sys
import tempfile

import tensorflow as tf

from bert_tf import files
from bert_tf.cli.run_state import RunState, fingerprint
from bert_tf.cli.script import to_flag_names
from bert_tf.cli.settings import FIXED, MAY_CHANGE, collect
from bert_tf.errors import InputError, rename_argument
from bert_tf.files import folder_for, lock_output
from bert_tf.latest_checkpoint import has_run
from bert_tf.model_folder import TASK_FILE, TokenizerFiles, task_metadata
from run.finetuning import ensemble, head, runs, search
from run.finetuning.settings import SEARCH_FOLDER
from run.tasks import TASKS
from run.techniques.int8 import Int8
from run.techniques.trained_weights import TrainedWeights
from run.training import model_files, strategies

# Attributes of a task that a resumed run must match. Lengths may change.
FIXED_ATTRIBUTES = ("kind", "labels", "pairs", "multi_label", "do_lower_case", "strip_accents", "window_pooling")


def run(settings):
    """Trains, evaluates, and predicts the task in FineTuningSettings. See `run_task`."""
    return run_task(TASKS[settings.task.kind], settings, choose_techniques(settings))


def choose_techniques(settings, *others):
    """Returns the Techniques that FineTuningSettings require, and `others`, the command's own."""
    techniques = [TrainedWeights(settings.trained_weights), *others]
    if settings.int8.quantize_from_step is not None:
        techniques.append(Int8(settings.int8.quantize_from_step))
    return tuple(techniques)


@tf.autograph.experimental.do_not_convert  # Contains nothing to convert.
def run_task(task_class, settings, techniques, metadata=None):
    """Trains, evaluates, and predicts.

    Args:
      task_class: Subclass of Task.
      settings: FineTuningSettings, resolved.
      techniques: Tuple of Technique.
      metadata: TaskMetadata that the task follows. If None, uses the metadata of the weights if they are not trained.

    Returns:
      runs.TrainedModel. The model that was evaluated and predicts: the best of several runs.

    Raises:
      InputError: If settings or data are incompatible with each other, the devices, or the run in output_dir; if a loss
        is not finite; or if there is no training and no checkpoint.
    """
    if settings.tuning.bilstm_head:
        settings = settings.replace_values({"config": dataclasses.replace(settings.model.config, bilstm_head=True)})
    config = settings.model.config
    settings.trained_weights.check_model(config)
    task = task_class(settings, metadata or _read_model_metadata(settings, task_class.kind))
    strategy = make_strategy(settings, task)  # Must precede all TensorFlow computation, such as tokenization.
    for note in settings.devices.notes():
        print(note)
    strategies.warn_about_slow_precision(settings.step.mixed_precision, strategies.device_type(strategy))
    tokenizer = settings.tokenizer.read_tokenizer(settings.model.init_checkpoint, config)
    task.read(tokenizer, strategies.may_group_by_length(settings, strategy))
    for technique in techniques:
        technique.read(task, tokenizer)
    settings = _reduce_batch_size(settings, task, strategy)
    task = task.replace_settings(settings)
    context, states = _check(settings, runs.RunContext(strategy, config, task, techniques))
    output_dir, trains_here = settings.training.output_dir, settings.tuning.do_train and context.writes
    with folder_for(output_dir), (
            lock_output("output_dir", output_dir) if trains_here else contextlib.nullcontext()):
        folder = _results_dir(settings, strategy)
        context = dataclasses.replace(context, begin=functools.cache(
            functools.partial(_begin, settings, context, states, folder)))
        run_all = ensemble.run if settings.tuning.ensemble else (
            search.run if settings.search.search else runs.run_seeds)
        trained_model = run_all(settings, context)
        if trained_model.eval_outputs is not None and settings.tuning.do_eval:
            task.report(trained_model.eval_outputs, folder)
        if settings.tuning.do_predict:
            task.predict(trained_model.predictor, trained_model.eval_outputs, folder)
        for technique in techniques:
            technique.end()
        return trained_model


def _begin(settings, context, states, folder):
    """Writes the files that training requires, once the first model has its weights; prints changed settings.

    Args:
      settings: FineTuningSettings.
      context: runs.RunContext.
      states: Dict of directory to RunState, from `_check`.
      folder: Path of the directory for training data.
    """
    if context.writes:
        for changes in dict.fromkeys(state.changes for state in states.values()):
            if changes:
                print(to_flag_names(f"{settings.training.output_dir}: {changes}"))
        for each, state in states.items():
            state.begin()
            model_files.save_run_files(each, context.config, TokenizerFiles(settings.tokenizer.vocab_file))
            task_metadata.keep(each, context.task.metadata)
    context.task.write_training_data(folder)
    for technique in context.techniques:
        technique.begin(context.task, folder)


def _reduce_batch_size(settings, task, strategy):
    """Returns settings with a smaller batch if there are too few examples; prints a note to standard error."""
    if not settings.tuning.do_train or settings.search.search:
        return settings
    fitting = settings.fit_batch_size(
        task.num_train_examples, strategy.num_replicas_in_sync * settings.step.accumulate_steps)
    if fitting is not settings:
        print(f"note: --train_batch_size={settings.training.train_batch_size}: reduced to "
              f"{fitting.training.train_batch_size}, since there are {task.num_train_examples} examples",
              file=sys.stderr)
    return fitting


def _check(settings, context):
    """Runs all checks that are possible before anything is written.

    Args:
      settings: FineTuningSettings.
      context: runs.RunContext, without its final `new_variables`.

    Returns:
      Tuple of runs.RunContext and dict of output directory to RunState.
    """
    task, does_train = context.task, settings.tuning.do_train
    tokenizer = TokenizerFiles(settings.tokenizer.vocab_file)
    if does_train:
        for each in settings.runs:
            each.num_train_steps(task.num_train_examples)
        _check_search(settings)
        if not any(model_files.has_started(each.training.output_dir) for each in settings.runs):
            model_files.check_directory(settings.training.output_dir, context.config, tokenizer)
    states = {}
    for folder, values in {settings.training.output_dir: ({},), **dict(_list_run_states(settings, context))}.items():
        if folder in settings.tuning.ensemble:
            with rename_argument(output_dir="ensemble"):
                check_metadata(folder, task.metadata)
            ensemble.check_model(folder, context.config, settings.tokenizer.vocab_file)
            continue
        check_metadata(folder, task.metadata)
        model_files.check_run_files(folder, context.config, tokenizer)
        states[folder] = RunState(folder, *values)
    if does_train and task.init_checkpoint and not all(
            has_run(each.training.output_dir) for each in settings.runs):
        context = dataclasses.replace(context, new_variables=head.choose_new_variables(
            task, task.init_checkpoint, settings.tuning.keep_head, context.config))
    return context, states


def check_metadata(output_dir, metadata):
    """Raises InputError if `output_dir` contains the run of another task."""
    if not has_run(output_dir):
        return
    existing = task_metadata.read(output_dir)
    if existing is None:
        raise InputError(f"contains a run, but no {TASK_FILE}, which describes its task; restore the file, or choose "
                         "another directory", "output_dir", output_dir)
    for name in FIXED_ATTRIBUTES:
        old, new = (getattr(each, name, None) for each in (existing, metadata))
        if old != new:
            raise InputError(f"contains the run of another task, with {name} {old!r} instead of {new!r}; choose "
                             "another directory", "output_dir", output_dir)


def make_strategy(settings, task):
    """Creates the strategy of FineTuningSettings, and checks the batch sizes in use against its replicas."""
    strategy = strategies.make_strategy(settings.devices)
    tuning, training = settings.tuning, settings.training
    if tuning.do_train:
        name = "search_batch_sizes" if settings.search.search else "train_batch_size"
        for each in settings.runs:
            strategies.check_batch_size(
                name, each.training.train_batch_size, strategy, settings.step.accumulate_steps)
    if tuning.do_eval and not (tuning.do_predict and task.evaluates_predictions):
        strategies.check_batch_size("eval_batch_size", training.eval_batch_size, strategy)
    if tuning.do_predict:
        strategies.check_batch_size("predict_batch_size", tuning.predict_batch_size, strategy)
    return strategy


def _read_model_metadata(settings, kind):
    """Returns the TaskMetadata of weights that are used without training, from output_dir or init_checkpoint.

    Returns None in training, and if the metadata do not exist or have another kind.
    """
    if settings.tuning.do_train:
        return None
    folder = settings.runs[0].training.output_dir
    place = folder if has_run(folder) else settings.model.init_checkpoint
    metadata = task_metadata.read(place) if place else None
    return metadata if metadata and metadata.kind == kind else None


def _results_dir(settings, strategy):
    """Returns the directory for results: output_dir, or a temporary directory for non-chief workers."""
    if strategies.is_chief(strategy):
        return settings.training.output_dir
    folder = tempfile.mkdtemp(prefix="worker_")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _list_run_states(settings, context):
    """Yields each run's directory, and `started_with` and `may_change` of its RunState, empty without training."""
    if not settings.tuning.do_train:
        yield from ((each.training.output_dir, ({}, {})) for each in settings.runs)
        return
    # Results of several runs are compared, so all must start alike. A single run only depends on its own checkpoint.
    checkpoint = settings.model.init_checkpoint
    comparison_settings = {"init_checkpoint": checkpoint and files.at(checkpoint).absolute(),
                           "keep_head": settings.tuning.keep_head, "eval_steps": settings.tuning.eval_steps}
    resumed = dict(context.task.resume_settings)
    for technique in context.techniques:
        resumed |= technique.resume()
    chosen = next(filter(None, (technique.training_files for technique in context.techniques)), None)
    fingerprints = {name: fingerprint(paths) for name, paths in (chosen or context.task.training_files).items()}
    for each in settings.runs:
        started_with = {
            **fingerprints,
            **(comparison_settings if len(settings.runs) > 1 else {}),
            **resumed,
            **collect(FIXED, each.tokenizer, each.training, each.tuning, each.optimizer),
            "random_seed": each.training.random_seed,
            **collect(FIXED, each.trained_weights),
        }
        may_change = collect(MAY_CHANGE, each.optimizer, each.step, each.tuning, each.int8)
        yield each.training.output_dir, (started_with, may_change)


def _check_search(settings):
    """Raises InputError if output_dir contains a search and `search` is not set, or vice versa."""
    folder = settings.training.output_dir
    holds_search = files.at(os.path.join(folder, SEARCH_FOLDER)).exists()
    if holds_search and not settings.search.search:
        raise InputError(f"`output_dir`={folder}: contains a search; set `search` to resume it, or choose another "
                         "directory")
    if settings.search.search and has_run(folder) and not holds_search:
        raise InputError(f"`output_dir`={folder}: contains a run, not a search; choose another directory for "
                         "`search`")
