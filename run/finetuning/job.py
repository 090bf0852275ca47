"""The fine-tuning job: data, model, training, evaluation, the best weights, and predictions.

Everything specific to a kind of task is in a run.finetuning.tasks.base.Task. See
run.finetuning.sweeps for several runs.
"""

import atexit
import dataclasses
import os
import shutil
import tempfile
from typing import NamedTuple

import tensorflow as tf

from bert_tf.checkpoints import (
    ModelDirectory,
    TokenizerFiles,
    holds_adapters,
    load_pretrained,
    task_metadata,
)
from bert_tf.checkpoints.training_run import BEST_FOLDER, has_run
from bert_tf.cli.run_state import RunState, fingerprint, snapshot
from bert_tf.errors import InputError
from bert_tf.fast import FastEncoder
from bert_tf.tasks import KINDS
from bert_tf.tasks.metadata import TASK_FILE
from run.finetuning.head import choose_new_variables
from run.finetuning.tasks import TASKS
from run.techniques.trained_weights import TrainedWeights
from run.training import model_files, results, strategies
from run.training.loop import DivergedError, Run, lock_run, open_run
from run.training.prediction import Predictor
from run.training.schedule import Phase

RESULTS_FILE = "eval_results.txt"
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


@tf.autograph.experimental.do_not_convert  # Contains nothing to convert.
def run(settings):
    """Trains, evaluates, and predicts.

    Args:
      settings: FineTuningSettings, resolved.

    Raises:
      InputError: If settings or data are incompatible with each other, the devices, or the run in
        output_dir; if a loss is not finite; or if there is no training and no checkpoint.
    """
    # Must precede all TensorFlow computation, such as tokenization.
    strategy = make_strategy(settings)
    task = read_task(settings, strategy)
    settings = task.settings
    check_run(settings, task)
    with lock_run(settings.training.output_dir, strategy, settings.do_train):
        result = train_once(settings, strategy, task, choose_techniques(settings))
        write_scores(settings.training.output_dir, result.scores, result.run.writes)
        report(task, result.predictor, result.outputs)
    if settings.do_train and result.run.writes:
        folder = settings.training.output_dir
        last_step = result.run.step
        if result.scores.get("global_step", last_step) != last_step:
            folder = os.path.join(folder, BEST_FOLDER)
        print(
            f"to predict: python -m run.predict --model={folder} --input_file=texts.txt "
            "--output_file=predictions.jsonl"
        )
        print(
            f"to serve:   python -m run.export_saved_model --init_checkpoint={folder} "
            "--export_dir=export"
        )


def make_strategy(settings):
    """Creates the strategy of FineTuningSettings, and checks batch sizes against its replicas.

    Checks only the batch sizes in use.
    """
    strategy = strategies.make_strategy(settings.devices, settings.step.mixed_precision)
    tuning = settings.tuning
    training = settings.training
    if settings.do_train:
        name = "search_batch_sizes" if settings.search else "train_batch_size"
        for run_settings in settings.runs:
            strategies.check_batch_size(
                name,
                run_settings.training.train_batch_size,
                strategy,
                settings.step.accumulate_steps,
            )
    if tuning.do_eval and not (
        tuning.do_predict and TASKS[settings.task.kind].evaluates_predictions
    ):
        strategies.check_batch_size("eval_batch_size", training.eval_batch_size, strategy)
    if tuning.do_predict:
        strategies.check_batch_size("predict_batch_size", tuning.predict_batch_size, strategy)
    strategies.warn_about_slow_precision(
        settings.step.mixed_precision, strategies.device_type(strategy)
    )
    return strategy


def read_task(settings, strategy, metadata=None):
    """Reads and checks all data; writes nothing.

    Args:
      settings: FineTuningSettings, resolved.
      strategy: tf.distribute.Strategy.
      metadata: TaskMetadata that the task follows. If None, uses the metadata of the weights if
        they are not trained.

    Returns:
      Task, with the settings that the data resolve.
    """
    checkpoint = settings.model.init_checkpoint
    task = TASKS[settings.task.kind](settings, metadata or _read_model_metadata(settings))
    tokenizer = settings.tokenizer.read_tokenizer(checkpoint, settings.model.config)
    task.read(tokenizer, strategies.may_group_by_length(settings, strategy))
    task.settings = dataclasses.replace(settings, task=task.data.resolved_settings)
    task.folder = _results_dir(settings, strategy)
    if settings.do_train:
        task.started_with = {
            name: fingerprint(paths) for name, paths in task.training_files.items()
        }
        for run_settings in task.settings.runs:
            run_settings.num_train_steps(task.num_train_examples)
        if checkpoint and not all(
            has_run(run_settings.training.output_dir) for run_settings in settings.runs
        ):
            task.new_variables = choose_new_variables(
                task, checkpoint, settings.keep_head, settings.model.config
            )
    return task


def check_run(settings, task):
    """Raises InputError unless a run of a task can begin, or resume, in the output directory.

    Writes nothing.
    """
    folder = settings.training.output_dir
    config = settings.model.config
    tokenizer = TokenizerFiles(settings.tokenizer.vocab_file)
    if settings.do_train:
        model_files.check_directory(folder, config, tokenizer)
    check_metadata(folder, task.metadata)
    model_files.check_run_files(folder, config, tokenizer)
    if settings.do_train:
        _make_state(settings, task)


def choose_techniques(settings):
    """Returns the list of Techniques that FineTuningSettings require."""
    kind = KINDS[settings.task.kind]
    return [TrainedWeights(settings.trained_weights, kind, settings.model.init_checkpoint)]


class TrainingResult(NamedTuple):
    """A trained model with its evaluation.

    Attributes:
      run: Run, with the weights that count.
      predictor: Predictor of the run's model.
      scores: Dict of name to float. Scores on the development data, empty without evaluation.
      outputs: Dict of arrays, the model's outputs for these data, or None.
    """

    run: Run
    predictor: Predictor
    scores: dict
    outputs: dict | None


def train_once(settings, strategy, task, techniques=()):
    """Trains and evaluates as `settings` request, in the run's directory.

    Args:
      settings: FineTuningSettings, with the same data as `task`.
      strategy: tf.distribute.Strategy.
      task: Task that has read its data.
      techniques: Techniques that change the run.

    Returns:
      TrainingResult.

    Raises:
      InputError: If there is nothing to train, and no trained model to use.
      DivergedError: If a loss is not finite.
    """
    task = task.replace_settings(settings)
    run = _open_run(settings, strategy, task, techniques)
    predictor = Predictor(
        strategy,
        run.model,
        per_position=task.per_position,
        static_shapes=not strategies.may_group_by_length(settings, strategy),
    )

    def predict():
        return predictor(task.eval_features, task.eval_batch_size, "evaluating")

    if settings.do_train:
        _train(run, settings, task, lambda: task.score(predict()))
    elif not run.step:
        _check_trained(settings, [name for name in run.missing if task.needs(name)])
    best_step = restore_best(run, settings)
    if task.eval_features is None:
        return TrainingResult(run, predictor, {}, None)
    outputs = predict()
    scores = {**task.score(outputs), "global_step": best_step or run.step}
    return TrainingResult(run, predictor, scores, outputs)


def _open_run(settings, strategy, task, techniques):
    """Creates the model of a task, and opens its run. See `train_once` for the arguments."""
    num_steps = settings.num_train_steps(task.num_train_examples) if settings.do_train else None
    groups_by_length = strategies.may_group_by_length(settings, strategy)

    def make_model():
        return task.make_model(make_encoder(settings, strategy, groups_by_length), task.metadata)

    return open_run(
        settings,
        strategy,
        make_model,
        task.loss,
        techniques,
        num_steps=num_steps,
        num_warmup_steps=int((num_steps or 0) * settings.tuning.warmup_proportion),
        init_checkpoint=settings.model.init_checkpoint,
        new_variables=task.new_variables,
        adds_tokens=settings.do_train and settings.added_tokens_file is not None,
    )


def _train(run, settings, task, evaluate):
    """Trains the model of a Run. `evaluate`: Function () -> scores, dict of name to float."""
    tuning = settings.tuning
    static_shapes = not strategies.may_group_by_length(settings, run.strategy)

    def make_batches(skip_steps, share):
        return task.training_batches(
            settings.training.random_seed, skip_steps, share, static_shapes
        )

    if run.best_step and run.step < run.num_steps and not tuning.eval_steps:
        raise InputError(
            f"contains the best weights of evaluations, in {BEST_FOLDER}; set `eval_steps`, "
            "or delete them to continue without evaluations",
            "output_dir",
            run.folder,
        )
    if run.writes:
        _make_state(settings, task).begin()
        save_run_files(run.folder, settings, task)
    task.write_training_data()
    try:
        run.train(
            [Phase(0, settings.training.train_batch_size, make_batches)],
            evaluate if tuning.eval_steps else None,
            eval_steps=tuning.eval_steps,
            best_metric=task.metric if tuning.eval_steps else None,
            early_stopping_evals=tuning.early_stopping_evals,
        )
    except DivergedError:
        run.free()
        raise


def make_encoder(settings, strategy, groups_by_length):
    """Creates the encoder of FineTuningSettings.

    For batches of similar lengths, it removes padding.
    """
    step = settings.step
    config = settings.model.config
    fast = strategies.choose_fast(
        strategy,
        config,
        step.jit_compile,
        step.is_16_bit,
        recompute=step.recompute_activations,
        remove_padding=groups_by_length,
    )
    return FastEncoder(config, fast, seed=settings.training.random_seed, dtype=step.dtype_policy)


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


def save_run_files(folder, settings, task):
    """Writes config, vocabulary, casing, and task.json to the directory of a run."""
    model_files.save_run_files(
        folder, settings.model.config, TokenizerFiles(settings.tokenizer.vocab_file)
    )
    task_metadata.keep(folder, task.metadata)


def write_scores(folder, scores, writes=True):
    """Writes and prints eval_results.txt if there are scores and this process writes files."""
    if writes and scores:
        results.write_results(os.path.join(folder, RESULTS_FILE), scores)


def report(task, predictor, outputs):
    """Writes the report on an evaluation, and the predictions, if they are requested.

    `outputs`: The model's outputs for the development data, or None.
    """
    if outputs is not None and task.settings.tuning.do_eval:
        task.report(outputs, task.folder)
    if task.settings.tuning.do_predict:
        task.predict(predictor, outputs, task.folder)


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


def _make_state(settings, task):
    """Creates the RunState of a run."""
    return RunState(settings.training.output_dir, snapshot(settings), task.started_with)


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
    return metadata if metadata and metadata.kind == settings.task.kind else None


def _results_dir(settings, strategy):
    """Returns the directory for results: output_dir, or a temporary one for non-chief workers."""
    if strategies.is_chief(strategy):
        return settings.training.output_dir
    folder = tempfile.mkdtemp(prefix="worker_")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _check_trained(settings, missing):
    """Raises InputError unless init_checkpoint has all task variables.

    `missing`: Names of variables it lacks.
    """
    output_dir = settings.training.output_dir
    checkpoint = settings.model.init_checkpoint
    if not checkpoint:
        raise InputError(
            "contains no checkpoint to evaluate; train first, or set `init_checkpoint`",
            "output_dir",
            output_dir,
        )
    if missing:
        raise InputError(
            f"`init_checkpoint`={checkpoint}: was not trained for this task; it lacks "
            f"{', '.join(missing)}; set `do_train`, or set `output_dir` to a finished run"
        )
