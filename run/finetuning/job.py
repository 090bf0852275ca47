"""Fine-tuning from settings to results: data, model, runs over seeds, evaluation, the best weights, predictions.

`run` does what all tasks share; what is a task's own it asks of a run.finetuning.task.FineTuningTask.
"""

import atexit
import dataclasses
import os
import shutil
import statistics
import tempfile

from bert_tf import models
from bert_tf.errors import InputError
from run.evaluation.results import write_results
from run.finetuning import prediction, task_metadata
from run.training import loop, run_metadata, strategies, utilisation
from run.training.optimizer import make_optimizer

RESULTS_FILE = "eval_results.txt"


@dataclasses.dataclass(frozen=True)
class FineTuned:
    """A model to use.

    Attributes:
      predictor: Predictor, with the weights to use.
      folder: of the run.
      results: dict of name -> float; empty without evaluation.
      eval_outputs: the model's outputs for the development data, dict of arrays; None without evaluation.
    """

    predictor: object
    folder: str
    results: dict
    eval_outputs: dict | None


def run(task_class, settings, config):
    """Trains, evaluates and predicts as `settings` say.

    Args:
      task_class: a subclass of FineTuningTask.
      settings: FineTuningSettings.
      config: BertConfig, of `settings.read_config`.

    Raises:
      InputError: settings or data that do not suit each other, the devices, or the run that output_dir holds; a
        loss that is not finite; nothing is trained, and there is no checkpoint.
    """
    task = task_class(settings, _kept_metadata(settings, task_class.kind))
    strategy = make_strategy(settings, task)  # TensorFlow may compute nothing before, as it does for a tokenizer
    for note in settings.devices.notes():
        print(note)
    tokenizer = settings.tokenizer.read_tokenizer(settings.model.init_checkpoint, config)
    task.read(tokenizer, may_group_by_length(settings, strategy))
    num_train_steps = settings.num_train_steps(task.num_train_examples) if settings.tuning.do_train else 1
    started_with = _started_with(settings, task)
    _check_what_is_there(settings, config, task, started_with)
    os.makedirs(settings.training.output_dir, exist_ok=True)
    folder = _results_dir(settings, strategy)
    if settings.tuning.do_train:
        if strategies.is_chief(strategy):
            _keep_model_files(settings, config, task, started_with)
        task.write_training_data(folder)
    tuned = train_and_evaluate(settings, strategy, config, task, num_train_steps)
    if tuned.eval_outputs is not None and settings.tuning.do_eval:
        task.report(tuned.eval_outputs, folder)
    if settings.tuning.do_predict:
        task.predict(tuned.predictor, tuned.eval_outputs, folder)


def make_strategy(settings, task):
    """The tf.distribute.Strategy of FineTuningSettings, with the batch sizes in use checked against its replicas."""
    strategy = strategies.make_strategy(settings.devices)
    tuning, training = settings.tuning, settings.training
    if tuning.do_train:
        strategies.check_batch_size(
            "train_batch_size", training.train_batch_size, strategy, settings.step.accumulate_steps)
    if tuning.do_eval and not (tuning.do_predict and task.evaluates_predictions):
        strategies.check_batch_size("eval_batch_size", training.eval_batch_size, strategy)
    if tuning.do_predict:
        strategies.check_batch_size("predict_batch_size", tuning.predict_batch_size, strategy)
    return strategy


def may_group_by_length(settings, strategy):
    """Whether batches may be of examples of similar length, and padding left out."""
    return (settings.tuning.group_by_length and not settings.step.jit_compile
            and strategies.allows_dynamic_shapes(strategy))


def _kept_metadata(settings, kind):
    """The TaskMetadata of the weights that are used without training: of the run in output_dir, or init_checkpoint.

    None in training, and where none of that kind is kept with them.
    """
    if settings.tuning.do_train:
        return None
    folder = settings.run_folders[0]
    place = folder if run_metadata.holds_run(folder) else settings.model.init_checkpoint
    kept = task_metadata.read(place) if place else None
    return kept if kept and kept.kind == kind else None


def _results_dir(settings, strategy):
    """Where to write results: output_dir; a temporary folder for a worker that only computes them along."""
    if strategies.is_chief(strategy):
        return settings.training.output_dir
    folder = tempfile.mkdtemp(prefix="worker_")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _started_with(settings, task):
    """For each run a dict of the settings with which it is resumed; {} without training."""
    if not settings.tuning.do_train:
        return [{} for _ in settings.run_folders]
    of_all = {
        **{name: run_metadata.fingerprint(files) for name, files in task.training_files.items()},
        **task.kept_settings,
        "max_seq_length": settings.tokenizer.max_seq_length,
        "train_batch_size": settings.training.train_batch_size,
        "group_by_length": settings.tuning.group_by_length,
        "optimizer": settings.optimizer.optimizer,
    }
    return [{**of_all, "random_seed": settings.training.random_seed + number}
            for number in range(settings.tuning.num_runs)]


def _check_what_is_there(settings, config, task, started_with):
    """Raises InputError if output_dir holds a run of another model or task, or of other data where it is resumed."""
    folders = {settings.training.output_dir: {}, **dict(zip(settings.run_folders, started_with, strict=True))}
    for folder, of_run in folders.items():
        task_metadata.check(folder, task.metadata)
        run_metadata.check(folder, config, of_run, settings.tokenizer.vocab_file)


def _keep_model_files(settings, config, task, started_with):
    """Keeps in output_dir, and in each run's folder, what a resume, evaluation and export need beside the weights."""
    folders = {settings.training.output_dir: {}, **dict(zip(settings.run_folders, started_with, strict=True))}
    for folder, of_run in folders.items():
        run_metadata.keep(folder, config, of_run, settings.tokenizer.vocab_file)
        task_metadata.keep(folder, task.metadata)


def train_and_evaluate(settings, strategy, config, task, num_train_steps):
    """Trains and evaluates, once for each seed, and writes eval_results.txt.

    Args:
      settings: FineTuningSettings.
      strategy: tf.distribute.Strategy.
      config: BertConfig.
      task: FineTuningTask that has read its data.
      num_train_steps: int, the step at which training ends.

    Returns:
      FineTuned: the run with the best metric, the first without evaluation.
    """
    best, all_results = None, []
    for number, folder in enumerate(settings.run_folders):
        tuned = _one_run(settings, strategy, config, task, num_train_steps, folder,
                         settings.training.random_seed + number)
        all_results.append(tuned.results)
        if best is None or (tuned.results and tuned.results[task.metric] > best.results[task.metric]):
            best = tuned
    if settings.tuning.num_runs > 1 and best.results:
        _write_results(settings.training.output_dir, strategy, _over_runs(all_results))
        print(f"best of {settings.tuning.num_runs} runs by {task.metric}: {best.folder}")
    return best


def _one_run(settings, strategy, config, task, num_train_steps, folder, seed):
    is_dynamic = may_group_by_length(settings, strategy)
    with strategy.scope():
        encoder = models.BertEncoder(config, seed=seed, remove_padding=is_dynamic, dtype=settings.step.dtype_policy,
                                     recompute_activations=settings.step.recompute_activations)
        model = task.make_model(encoder, task.metadata)
        optimizer = make_optimizer(settings.optimizer, settings.step, num_train_steps,
                                   int(num_train_steps * settings.tuning.warmup_proportion))
    predictor = prediction.Predictor(
        strategy, model, per_position=task.per_position, static_shapes=not is_dynamic)
    predict_eval = lambda: predictor(task.eval_features, task.eval_batch_size, "evaluating")
    training_run = _training_run(settings, strategy, config, task, model, optimizer, num_train_steps, folder)
    if settings.tuning.do_train:
        training_run.train(
            lambda first_step: task.training_batches(seed, first_step, static_shapes=not is_dynamic),
            evaluate=(lambda: task.score(predict_eval())) if settings.tuning.eval_steps else None)
    elif not training_run.step:
        _check_trained(settings, training_run.missing)
    step = training_run.restore_best() or training_run.step
    if task.eval_features is None:
        return FineTuned(predictor, folder, {}, None)
    outputs = predict_eval()
    results = {**task.score(outputs), "global_step": step}
    _write_results(folder, strategy, results)
    return FineTuned(predictor, folder, results, outputs)


def _training_run(settings, strategy, config, task, model, optimizer, num_train_steps, folder):
    eval_steps = settings.tuning.eval_steps
    return loop.TrainingRun(
        strategy, model, optimizer, task.loss, ("loss",), dataclasses.replace(settings.training, output_dir=folder),
        num_train_steps, step_settings=settings.step, init_checkpoint=settings.model.init_checkpoint,
        evaluations=loop.Evaluations(
            eval_steps, task.metric if eval_steps else None, settings.tuning.early_stopping_evals),
        flops_of=lambda tokens: utilisation.FORWARD_AND_BACKWARD * utilisation.encoder_flops(config, 1, tokens))


def _check_trained(settings, missing):
    """Raises InputError unless init_checkpoint has all of a task model; `missing`: the variables it lacks."""
    output_dir, checkpoint = settings.training.output_dir, settings.model.init_checkpoint
    if not checkpoint:
        hint = "give its `num_runs`" if os.path.isdir(os.path.join(output_dir, "run_1")) else (
            "train first, or give `init_checkpoint`")
        raise InputError(f"`output_dir`={output_dir}: holds no checkpoint to evaluate; {hint}")
    if missing:
        raise InputError(f"`init_checkpoint`={checkpoint}: is not of a model that was trained for this task, it lacks "
                         f"{', '.join(missing)}; give `do_train`, or the `output_dir` of a run")


def _write_results(folder, strategy, results):
    if strategies.is_chief(strategy):
        write_results(os.path.join(folder, RESULTS_FILE), results)


def _over_runs(all_results):
    """The mean of each result over runs, and its standard deviation as NAME_std."""
    results = {}
    for name in all_results[0]:
        values = [each[name] for each in all_results]
        results[name] = statistics.mean(values)
        results[f"{name}_std"] = statistics.stdev(values)
    return results
