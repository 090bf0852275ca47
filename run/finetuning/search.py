"""The hyperparameter search of the paper (appendix A.3).

It tries all combinations of batch size, learning rate, and epochs. A combination is a trial, a run
in its own directory. Its results are saved there as trial.json: an interrupted search resumes with
the first trial without it. Only the best trial and the current one keep their checkpoints.
"""

import dataclasses
import os

from bert_tf.checkpoints.training_run import TRIAL_FILE, find_latest_checkpoint
from bert_tf.cli import tables
from bert_tf.cli.run_state import RunState
from bert_tf.errors import InputError
from run.finetuning.experiment import write_scores
from run.finetuning.settings import SEARCH_FOLDER, format_number
from run.techniques.settings import TrainedWeightsSettings
from run.training import checkpoints, results, strategies
from run.training.loop import DivergedError

TABLE_FILE = "search.tsv"  # In SEARCH_FOLDER.
SEARCHED = ("train_batch_size", "learning_rate", "num_train_epochs")


def search(experiment):
    """Trains and evaluates each unfinished trial, and uses the best by the task's metric.

    Args:
      experiment: Experiment. The `runs` of its task's settings are the trials.

    Returns:
      Trained, of the best trial. Its weights and scores are also written to output_dir, in the form
      of a run.

    Raises:
      InputError: If no trial has a score.
    """
    settings = experiment.task.settings
    metric = experiment.task.metric
    output_dir = settings.training.output_dir
    writes = strategies.is_chief(experiment.strategy)
    trials = settings.runs
    all_scores = _run_trials(trials, experiment)
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
    result = experiment.train_once(evaluated)
    if writes:
        experiment.save_files(settings)
        checkpoints.save_only_checkpoint(output_dir, result.run.model, result.scores["global_step"])
    write_scores(output_dir, result.scores, writes)
    return result


def _run_trials(trials, experiment):
    """Trains and evaluates each unfinished trial.

    Returns:
      List of the scores of each trial: dict of name to float, empty if it diverged.
    """
    task = experiment.task
    all_scores = [_load_scores(trial) for trial in trials]
    for number, trial in enumerate(trials):
        if all_scores[number] is None:
            print(f"search: trial {number + 1} of {len(trials)}, {_get_name(trial)}", flush=True)
            all_scores[number] = _finish(trial, experiment)
        if strategies.is_chief(experiment.strategy):
            _remove_other_weights(trials, all_scores, task.metric)
            _write_table(task.settings, trials, all_scores, task.metric)
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


def _finish(trial, experiment):
    """Trains and evaluates a trial, or resumes it.

    Returns its scores, which are saved to its directory.
    """
    writes = strategies.is_chief(experiment.strategy)
    try:
        result = experiment.train_once(trial)
        result.run.free()
        scores = result.scores
        write_scores(result.run.folder, scores, writes)
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
