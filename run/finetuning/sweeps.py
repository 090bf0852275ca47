"""Several fine-tuning runs of a task: over seeds, a hyperparameter search, and an ensemble.

The search is that of the paper (appendix A.3): all combinations of batch size, learning rate, and
epochs. A combination is a trial, a run in its own directory. Its results are saved there as
trial.json: an interrupted search resumes with the first trial without it. Only the best trial and
the current one keep their checkpoints.
"""

import dataclasses
import os
import statistics

import tensorflow as tf

from bert_tf import files
from bert_tf.checkpoints.training_run import TRIAL_FILE, find_latest_checkpoint
from bert_tf.cli import tables
from bert_tf.cli.run_state import RunState
from bert_tf.errors import InputError, rename_argument
from run.finetuning import job
from run.finetuning.settings import SEARCH_FOLDER, format_number
from run.techniques.settings import TrainedWeightsSettings
from run.training import checkpoints, model_files, results, strategies
from run.training.loop import DivergedError, lock_run

TABLE_FILE = "search.tsv"  # In SEARCH_FOLDER.
SEARCHED = ("train_batch_size", "learning_rate", "num_train_epochs")
COMPARED = ("keep_head", "eval_steps")  # Runs with different values would not be comparable.


@tf.autograph.experimental.do_not_convert  # Contains nothing to convert.
def run(settings):
    """Trains, evaluates, and predicts. `settings`: FineTuningSettings, resolved. See `run_all`."""
    strategy = job.make_strategy(settings)
    run_all(job.read_task(settings, strategy), strategy, job.choose_techniques(settings))


def run_all(task, strategy, techniques):
    """Trains and evaluates the runs of a task, and predicts with the best one or the ensemble.

    The settings of the task determine the runs, one or several.

    Args:
      task: Task that has read its data.
      strategy: tf.distribute.Strategy.
      techniques: Techniques that change each run.

    Raises:
      InputError: See run.finetuning.job. Also if the runs in output_dir are other ones.
    """
    settings = task.settings
    if len(settings.runs) > 1 and settings.do_train:
        checkpoint = settings.model.init_checkpoint
        task.started_with |= {
            "init_checkpoint": checkpoint and files.at(checkpoint).absolute(),
            **{name: settings.values()[name] for name in COMPARED},
        }
    _check(settings, task)
    with lock_run(settings.training.output_dir, strategy, settings.do_train):
        if settings.ensemble:
            run_some = average_ensemble
        elif settings.search:
            run_some = search
        else:
            run_some = run_seeds
        job.report(task, *run_some(settings, strategy, task, techniques))


def run_seeds(settings, strategy, task, techniques):
    """Trains and evaluates once per seed, and writes eval_results.txt.

    See `run_all` for the arguments.

    Returns:
      Tuple of the Predictor and the outputs of the run with the best metric, or of the first
      without evaluation.
    """
    output_dir = settings.training.output_dir
    all_scores = []
    best = None
    for run_settings in settings.runs:
        new = job.train_once(run_settings, strategy, task, techniques)
        job.write_scores(new.run.folder, new.scores, new.run.writes)
        if new.run.writes and settings.do_train:
            job.save_run_files(output_dir, settings, task)
        all_scores.append(new.scores)
        best = keep_better(best, new, task.metric)
    if len(all_scores) > 1 and best.scores:
        job.write_scores(output_dir, compute_mean_and_deviation(all_scores), best.run.writes)
        print(f"best of {len(all_scores)} runs by {task.metric}: {best.run.folder}")
    return best.predictor, best.outputs


def keep_better(best, new, metric):
    """Returns the better one of two TrainingResults, and frees the memory of the other one.

    `best` is None for the first result. It is returned if the scores are equal or missing.
    """
    if best is None:
        return new
    if new.scores and new.scores[metric] > best.scores[metric]:
        best.run.free()
        return new
    new.run.free()
    return best


def average_ensemble(settings, strategy, task, techniques):
    """Evaluates each run and the ensemble, and writes eval_results.txt (section 4.2).

    The probabilities of the ensemble are averages. See `run_all` for the arguments; the `runs` of
    the settings are those of `ensemble`.

    Returns:
      Tuple of a function like a Predictor, and the outputs of the ensemble, or None.
    """
    predictors = []
    all_outputs = []
    for run_settings in settings.runs:
        with rename_argument(output_dir="ensemble"):
            result = job.train_once(run_settings, strategy, task, techniques)
        predictors.append(result.predictor)
        all_outputs.append(result.outputs)
        if result.scores:
            print(f"{result.run.folder}: {task.metric} = {result.scores[task.metric]:.4g}")

    def predict(*arguments):
        return task.average([predictor(*arguments) for predictor in predictors])

    if all_outputs[0] is None:
        return predict, None
    outputs = task.average(all_outputs)
    job.write_scores(settings.training.output_dir, task.score(outputs), result.run.writes)
    return predict, outputs


def search(settings, strategy, task, techniques):
    """Trains and evaluates each unfinished trial, and uses the best by the task's metric.

    See `run_all` for the arguments; the `runs` of the settings are the trials.

    Returns:
      Tuple of the Predictor and the outputs of the best trial. Its weights and scores are also
      written to output_dir, in the form of a run.

    Raises:
      InputError: If no trial has a score.
    """
    metric = task.metric
    output_dir = settings.training.output_dir
    writes = strategies.is_chief(strategy)
    trials = settings.runs
    all_scores = _run_trials(trials, settings, strategy, task, techniques)
    best, best_scores = _find_best(trials, all_scores, metric)
    print(_format_table(trials, all_scores, best_scores, metric))
    if best is None:
        raise InputError(
            f"`search`: the loss was not finite in any of {len(trials)} trials; set lower "
            "`search_learning_rates`"
        )
    best_folder = best.training.output_dir
    print(
        f"best of {len(trials)} trials by {metric}: {best_folder}; its weights are in {output_dir}"
    )
    # An earlier, larger search preferred another one.
    if find_latest_checkpoint(best_folder) is None:
        raise InputError(
            f"`search`: {best_folder} has no weights any more; delete it, and run the search again"
        )
    evaluated = dataclasses.replace(
        best, do_train=False, keep_head=None, trained_weights=TrainedWeightsSettings()
    )
    result = job.train_once(evaluated, strategy, task, techniques)
    if writes:
        job.save_run_files(output_dir, settings, task)
        checkpoints.save_only_checkpoint(output_dir, result.run.model, result.scores["global_step"])
    job.write_scores(output_dir, result.scores, writes)
    return result.predictor, result.outputs


def _run_trials(trials, settings, strategy, task, techniques):
    """Trains and evaluates each unfinished trial. See `search` for the arguments.

    Returns:
      List of the scores of each trial: dict of name to float, empty if it diverged.
    """
    all_scores = [_load_scores(trial) for trial in trials]
    for number, trial in enumerate(trials):
        if all_scores[number] is None:
            print(f"search: trial {number + 1} of {len(trials)}, {_get_name(trial)}", flush=True)
            all_scores[number] = _finish(trial, strategy, task, techniques)
        if strategies.is_chief(strategy):
            _remove_other_weights(trials, all_scores, task.metric)
            _write_table(settings, trials, all_scores, task.metric)
    return all_scores


def _find_best(trials, all_scores, metric):
    """Returns the best trial and its scores, or twice None if all finished trials diverged."""
    scored = [pair for pair in zip(trials, all_scores, strict=True) if pair[1]]
    return max(scored, key=lambda pair: pair[1][metric], default=(None, None))


def _remove_other_weights(trials, all_scores, metric):
    """Deletes the checkpoints of finished trials, except for the best one."""
    best, _ = _find_best(trials, all_scores, metric)
    for trial, scores in zip(trials, all_scores, strict=True):
        if scores is not None and trial is not best:
            checkpoints.remove_checkpoints(trial.training.output_dir)


def _write_table(settings, trials, all_scores, metric):
    """Writes the settings and scores of finished trials to the directory of the search."""
    results.write_table(
        os.path.join(settings.training.output_dir, SEARCH_FOLDER, TABLE_FILE),
        [*SEARCHED, *list_columns(all_scores, metric), "folder"],
        [
            {**_get_values(trial), **scores, "folder": _get_name(trial)}
            for trial, scores in zip(trials, all_scores, strict=True)
            if scores is not None
        ],
    )


def _check(settings, task):
    """Raises InputError unless all runs can begin, or resume, or be evaluated; writes nothing."""
    if not any(
        model_files.has_started(run_settings.training.output_dir) for run_settings in settings.runs
    ):
        job.check_run(settings, task)
    for run_settings in settings.runs:
        with rename_argument(**({"output_dir": "ensemble"} if settings.ensemble else {})):
            job.check_run(run_settings, task)


def compute_mean_and_deviation(all_scores):
    """Computes the mean of each score over runs, and its standard deviation as NAME_std."""
    means = {}
    for name in all_scores[0]:
        values = [scores[name] for scores in all_scores]
        means[name] = statistics.mean(values)
        means[f"{name}_std"] = statistics.stdev(values)
    return means


def _get_name(trial):
    """Returns the name of the directory of a trial, FineTuningSettings."""
    return os.path.basename(trial.training.output_dir)


def _get_values(trial):
    """Returns the batch size, learning rate, and epochs of a trial, a dict of SEARCHED."""
    values = trial.values()
    return {name: values[name] for name in SEARCHED}


def _get_state(trial):
    """Returns the RunState of a trial, whose part "results" is finished at its end."""
    return RunState(trial.training.output_dir, _get_values(trial), name=TRIAL_FILE)


def _load_scores(trial):
    """Returns the scores in a trial's directory: a dict, empty if it diverged.

    None if the trial is unfinished.
    """
    return _get_state(trial).result("results")


def _finish(trial, strategy, task, techniques):
    """Trains and evaluates a trial, or resumes it.

    Returns its scores, which are saved to its directory.
    """
    writes = strategies.is_chief(strategy)
    try:
        result = job.train_once(trial, strategy, task, techniques)
        result.run.free()
        scores = result.scores
        job.write_scores(result.run.folder, scores, writes)
    except DivergedError as error:
        print(f"{_get_name(trial)}: {error}")
        scores = {}
    if writes:
        _get_state(trial).finish("results", scores)
    return scores


def list_columns(all_scores, metric):
    """Returns the names of the trials' scores, the metric first."""
    names = {name for scores in all_scores for name in scores or ()}
    return sorted(names, key=lambda name: (name != metric, name == "global_step", name))


def _format_table(trials, all_scores, best_scores, metric):
    """Returns a table of trials as text."""
    names = [
        name for name in list_columns(all_scores, metric) if name not in ("loss", "global_step")
    ]
    rows = []
    for trial, scores in zip(trials, all_scores, strict=True):
        note = "best" if scores is best_scores else ""
        rows.append(
            (
                *map(format_number, _get_values(trial).values()),
                str(scores.get("global_step", "")),
                *(f"{scores[name]:.4f}" if name in scores else "-" for name in names),
                note if scores else "diverged",
            )
        )
    return tables.format_table(
        ("batch size", "learning rate", "epochs", "steps", *names, ""), rows, num_left=0
    )
