"""The job of scripts with frozen features: fine-tuning, frozen features, or a table like the paper's table 7 of both.

A row is a run over seeds in its own directory. It is finished when its eval_results.txt exists and deletion of its
checkpoints has started; its other reports exist by then. An interrupted table resumes with the first unfinished row.
"""

import csv
import dataclasses
import os

from bert_tf import files
from bert_tf.checkpoints import checkpoint_files
from bert_tf.cli.run_state import RunState, fingerprint
from bert_tf.files import folder_for, lock_output, new_file
from bert_tf.latest_checkpoint import has_run
from run.evaluation import results
from run.finetuning import job, runs
from run.finetuning.frozen_settings import KINDS, TABLE_FILE, TABLE_SETTINGS_FILE, select_layers
from run.finetuning.frozen_task import FROZEN_TASKS, TECHNIQUES
from run.training import checkpoints

FINE_TUNED = "fine_tuned"
DEVIATION = "_std"  # Suffix of the names of standard deviations over runs.
NOT_SHOWN = ("global_step", "loss")
# Names of the main metrics of tasks, in the order of the columns; other results follow.
METRICS = tuple(f"eval_{name}" for name in ("f1", "matthews_corrcoef", "spearman", "pearson", "micro_f1", "accuracy"))


def run(settings):
    """Trains, evaluates, and predicts.

    Args:
      settings: TransferSettings, resolved.

    Raises:
      InputError: See run.finetuning.job. Also if the encoder has too few layers, if embeddings are damaged, or if
        output_dir contains a table with other settings.
    """
    kind = settings.frozen.frozen_features
    if settings.frozen.all_features:
        _fill_table(settings)
    elif kind:
        _run_frozen(settings.build_run_settings(kind))
    else:
        job.run(settings.build_run_settings())


def _run_frozen(settings):
    """Trains, evaluates, and predicts with FrozenRunSettings. See `job.run_task`."""
    return job.run_task(FROZEN_TASKS[settings.task.kind], settings, TECHNIQUES)


def _fill_table(settings):
    """Trains and evaluates each unfinished row, and writes and prints the table."""
    for kind in KINDS:
        select_layers(kind, settings.model.config.num_hidden_layers)
    output_dir = settings.training.output_dir
    state = RunState(output_dir, _collect_dependencies(settings), name=TABLE_SETTINGS_FILE, end="")
    with folder_for(output_dir), lock_output("output_dir", output_dir):
        rows = {}
        for name in (FINE_TUNED, *KINDS):
            row_settings = settings.build_row_settings(
                None if name == FINE_TUNED else name, os.path.join(output_dir, name))
            rows[name] = _finish(name, row_settings, state)
            _write_table(os.path.join(output_dir, TABLE_FILE), rows)
    print("\n".join(_format_table(rows)))
    print(f"{os.path.join(output_dir, TABLE_FILE)}: means and standard deviations of {settings.frozen.runs_per_row} "
          "runs per row")


def _finish(name, settings, state):
    """Returns the results of a row, dict of name to float. Trains it if necessary, after `state` has begun."""
    path = os.path.join(settings.training.output_dir, runs.RESULTS_FILE)
    if not files.at(path).exists() or all(has_run(each.training.output_dir) for each in settings.runs):
        state.begin()
        print(f"table: {name}", flush=True)
        trained = (job.run if name == FINE_TUNED else _run_frozen)(settings)
        trained.free()
    scores = results.read_results(path)
    for each in settings.runs:  # A row that was interrupted at its end may have left some.
        checkpoints.remove_checkpoints(each.training.output_dir)
    return scores


def _collect_dependencies(settings):
    """Returns a dict of everything that a table's scores depend on."""
    task, frozen = FROZEN_TASKS[settings.task.kind].identify_data(settings), dataclasses.asdict(settings.frozen)
    names = {"tokenizer": ("max_seq_length", "do_lower_case", "strip_accents"), "step": ("mixed_precision",),
             "training": ("train_batch_size", "random_seed"),
             "tuning": ("num_train_epochs", "warmup_proportion", "eval_steps", "early_stopping_evals",
                        "group_by_length")}
    values = {name: getattr(getattr(settings, group), name)
              for group, group_names in names.items() for name in group_names}
    del frozen["vectors_dir"]
    return {"init_checkpoint": fingerprint(checkpoint_files(settings.model.init_checkpoint), is_complete=True),
            **task, **frozen, **values, **dataclasses.asdict(settings.optimizer)}


def _list_columns(rows):
    """Returns the names of the results, primary metrics first, without the names of deviations."""
    names = {name for row in rows.values() for name in row if name not in NOT_SHOWN and not name.endswith(DEVIATION)}
    return sorted(names, key=lambda name: (METRICS.index(name) if name in METRICS else len(METRICS), name))


def _write_table(path, rows):
    """Writes the table: one row per kind, with the mean of each result and, over several runs, its deviation."""
    names = [each for name in _list_columns(rows) for each in (name, f"{name}{DEVIATION}")
             if any(each in row for row in rows.values())]
    with new_file(path, newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(["features", *names])
        writer.writerows([name, *(row.get(each, "") for each in names)] for name, row in rows.items())


def _format_table(rows):
    """Yields the lines of the table as text."""
    names = _list_columns(rows)
    cells = [("features", *names)]
    cells += [(name, *(_format_cell(row, column) for column in names)) for name, row in rows.items()]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for first, *others in cells:
        yield "  ".join([first.ljust(widths[0]), *(
            cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))])


def _format_cell(row, name):
    """Formats a mean, with its deviation if there is one."""
    deviation = f" ± {row[f'{name}{DEVIATION}']:.4f}" if f"{name}{DEVIATION}" in row else ""
    return f"{row[name]:.4f}{deviation}" if name in row else "-"
