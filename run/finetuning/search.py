"""The hyperparameter search of the paper (appendix A.3): all combinations of batch size, learning rate, and epochs.

A combination is a trial, a run in its own directory. Its results are saved there as trial.json: an interrupted search
resumes with the first trial without it. Only the best trial and the current one keep their checkpoints.
"""

import csv
import dataclasses
import os

from bert_tf import files
from bert_tf.cli.run_state import RunState
from bert_tf.errors import InputError
from bert_tf.files import new_file
from bert_tf.latest_checkpoint import TRIAL_FILE, find_latest_checkpoint
from run.evaluation import plots
from run.finetuning import head, runs
from run.finetuning.settings import SEARCH_FOLDER, FineTuningSettings, format_number
from run.techniques.settings import TrainedWeightsSettings
from run.training import checkpoints
from run.training.loop import DivergedError

TABLE_FILE, PLOT_FILE = "search.tsv", "search.png"  # In SEARCH_FOLDER.
SETTINGS = ("train_batch_size", "learning_rate", "num_train_epochs")


@dataclasses.dataclass(frozen=True)
class Trial:
    """A combination of hyperparameters, and the results of training with it.

    Attributes:
      settings: FineTuningSettings of its run.
      results: Dict of name to float. Empty if its loss was not finite. None if the trial is unfinished.
    """

    settings: FineTuningSettings
    results: dict | None = None

    @property
    def folder(self):
        """Path of the run's directory."""
        return self.settings.training.output_dir

    @property
    def name(self):
        """Name of the run's directory."""
        return os.path.basename(self.folder)

    @property
    def values(self):
        """Tuple of batch size, learning rate, and epochs, in the order of `SETTINGS`."""
        return (self.settings.training.train_batch_size, self.settings.optimizer.learning_rate,
                self.settings.tuning.num_train_epochs)

    @property
    def state(self):
        """RunState whose part "results" is finished at the end of the trial."""
        return RunState(self.folder, dict(zip(SETTINGS, self.values, strict=True)), name=TRIAL_FILE)


def run(settings, context):
    """Trains and evaluates each unfinished trial, and uses the best by the task's metric.

    Args:
      settings: FineTuningSettings, whose `runs` are the trials.
      context: runs.RunContext.

    Returns:
      runs.TrainedModel. The best trial. Its weights and results are also written to output_dir, in the form of a run.

    Raises:
      InputError: If no trial has a score.
    """
    metric, output_dir = context.task.metric, settings.training.output_dir
    trials = [_load_results(Trial(each)) for each in settings.runs]
    for number, trial in enumerate(trials):
        if trial.results is None:
            print(f"search: trial {number + 1} of {len(trials)}, {trial.name}", flush=True)
            trials[number] = _finish(trial, context)
        best = _find_best(trials, metric)
        if context.writes:
            _remove_checkpoints(trials, best)
            _write_table(os.path.join(output_dir, SEARCH_FOLDER, TABLE_FILE), trials, metric)
    print("\n".join(_format_table(trials, best, metric)))
    if best is None:
        raise InputError(f"`search`: the loss was not finite in any of {len(trials)} trials; set lower "
                         "`search_learning_rates`")
    return _save_best(best, settings, context, trials)


def _save_best(best, settings, context, trials):
    """Returns the TrainedModel of the best trial; saves its weights and results in output_dir and plots the search."""
    metric, output_dir = context.task.metric, settings.training.output_dir
    print(f"best of {len(trials)} trials by {metric}: {best.folder}; its weights are in {output_dir}")
    if find_latest_checkpoint(best.folder) is None:  # An earlier, larger search preferred another one.
        print(f"{best.folder}: training again, since its weights were deleted")
        if context.writes:  # Marks it as unfinished in case this process is killed.
            files.at(os.path.join(best.folder, TRIAL_FILE)).remove()
        context = dataclasses.replace(context, new_variables=head.choose_new_variables(
            context.task, settings.model.init_checkpoint, settings.tuning.keep_head, context.config))
        _finish(best, context)
    trained_model = runs.run_once(dataclasses.replace(
        best.settings, tuning=dataclasses.replace(best.settings.tuning, do_train=False, keep_head=None),
        trained_weights=TrainedWeightsSettings()), context)
    if context.writes:
        checkpoints.save_only_checkpoint(output_dir, trained_model.model, trained_model.step)
        plots.search_results(os.path.join(output_dir, SEARCH_FOLDER, PLOT_FILE),
                             [(*trial.values, trial.results.get(metric)) for trial in trials], metric)
    runs.write_results(output_dir, context, trained_model.results)
    return trained_model


def _load_results(trial):
    """Returns a Trial with the results in its directory, unchanged if there are none; raises InputError if damaged."""
    state = trial.state
    if not state.is_resumed:
        return trial
    results = state.result("results")
    if not isinstance(results, dict) or not all(isinstance(value, int | float) for value in results.values()):
        path = os.path.join(trial.folder, TRIAL_FILE)
        raise InputError(f"{path}: has no valid results; delete it to rerun the trial")
    return dataclasses.replace(trial, results=results)


def _finish(trial, context):
    """Trains and evaluates a trial, or resumes it; returns it with its results, which are saved to its directory."""
    try:
        trained_model = runs.run_once(trial.settings, context)
        results = trained_model.results
        trained_model.free()
        runs.write_results(trial.folder, context, results)
    except DivergedError as error:
        print(f"{trial.name}: {error.event}")  # Without the advice, since its checkpoints are deleted.
        results = {}
    if context.writes:
        trial.state.finish("results", results)
    return dataclasses.replace(trial, results=results)


def _find_best(trials, metric):
    """Returns the Trial with the highest metric, the first if equal, or None if none has results."""
    return max((trial for trial in trials if trial.results), key=lambda trial: trial.results[metric], default=None)


def _remove_checkpoints(trials, best):
    for trial in trials:
        if trial.results is not None and trial is not best:
            checkpoints.remove_checkpoints(trial.folder)


def _list_columns(trials, metric):
    """Returns the names of the trials' results, the metric first."""
    names = {name for trial in trials for name in trial.results or ()}
    return sorted(names, key=lambda name: (name != metric, name == "global_step", name))


def _write_table(path, trials, metric):
    """Writes search.tsv: one row per finished trial."""
    names = _list_columns(trials, metric)
    with new_file(path, newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow([*SETTINGS, *names, "folder"])
        writer.writerows([*trial.values, *(trial.results.get(name, "") for name in names), trial.name]
                         for trial in trials if trial.results is not None)


def _format_table(trials, best, metric):
    """Yields the lines of a table of trials as text."""
    names = [name for name in _list_columns(trials, metric) if name not in ("loss", "global_step")]
    rows = [("batch size", "learning rate", "epochs", "steps", *names, "")]
    for trial in trials:
        results, note = trial.results, "best" if trial is best else ""
        rows.append((*map(format_number, trial.values), str(results.get("global_step", "")),
                     *(f"{results[name]:.4f}" if name in results else "-" for name in names),
                     note if results else "diverged"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for *cells, note in rows:
        yield "  ".join(cell.rjust(width) for cell, width in zip(cells, widths[:-1], strict=True)).rstrip() + (
            f"  {note}" if note else "")
