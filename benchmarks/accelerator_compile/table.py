"""Compiles the rows of the table, stores each row when it is finished, and prints the stored rows.

A stored row contains a hash of its program. If the hash, the compiler, and its options are still the same, the row is
not compiled again.
"""

import dataclasses
import json
import os

from benchmarks import measurements
from benchmarks.accelerator_compile import compiler, largest_batch, layout
from benchmarks.accelerator_compile.chips import CHIPS
from benchmarks.accelerator_compile.estimates import Estimate
from benchmarks.accelerator_compile.measurement import Measurement, fingerprint, lower_step, measure_module
from benchmarks.accelerator_compile.plans import PLANS
from benchmarks.accelerator_compile.settings import CHECK, UPDATE
from bert_tf import files
from bert_tf.cli.paths import check_output_dir
from bert_tf.errors import InputError
from bert_tf.files import new_file, read_json_object

SETTINGS = ("chip", "workload", "precision", "bert_config_file", "batch_size", "max_seq_length",
            "max_predictions_per_seq", "max_sequences_per_pack", "optimizer", "accumulate_steps",
            "recompute_activations")


def run(settings, plans=PLANS, measure=None):
    """Prints the stored rows of the table; before that, compiles or checks the rows of settings.chip.

    Args:
      settings: CompileSettings.
      plans: The Plans of the table.
      measure: Callable of CompileSettings and the stored row that returns a row; see `measure_row`. Tests pass their
        own.

    Raises:
      InputError: If the compiler is not installed, or if the program of a checked row changed.
    """
    chosen = [plan for plan in plans if settings.only in plan.name and settings.chip in plan.chips]
    if settings.table == UPDATE:
        compiler.check_installed(settings.chip)
        check_output_dir("rows_dir", settings.rows_dir)
        files.at(settings.rows_dir).make_dirs()
        for plan in chosen:
            complete(plan, settings, measure or measure_in_own_process)
    if settings.table == CHECK:
        check(chosen, settings, measure or measure_in_own_process)
        return
    for chip in CHIPS:
        base = dataclasses.replace(settings, chip=chip)
        layout.print_table([(plan, stored_rows(plan, base)) for plan in plans if chip in plan.chips], CHIPS[chip],
                           settings.format)


def measure_in_own_process(settings, stored):
    """Calls `measure_row` in a separate process, to release its memory afterwards."""
    return measurements.in_own_process(measure_row, settings, stored)


def measure_row(settings, stored):
    """Lowers the step of a row and compiles it, unless the stored row has the same program or is only checked.

    Args:
      settings: CompileSettings.
      stored: Dict of the stored row, or None.

    Returns:
      Dict "settings": values of SETTINGS; "program": hash of the StableHLO; "compiler": name and version; "options":
      list of str; "measurement": dict of Measurement. If the row is only checked, the last three are from `stored`.
    """
    module = lower_step(settings, settings.lookup[0])
    row = {"settings": key_of(settings), "program": fingerprint(module)}
    if settings.table == CHECK:
        return {**stored, **row}
    row.update(compiler=compiler.version(settings.chip), options=list(settings.compiler_options))
    if stored and all(stored[name] == value for name, value in row.items()):
        return stored
    measurement = dataclasses.asdict(measure_module(settings, settings.lookup[0], module))
    if measurement["estimate"]:
        del measurement["estimate"]["operations"]
    return {**row, "measurement": measurement}


def complete(plan, settings, measure):
    """Updates the rows of a plan, and the rows that the search for the largest batch requires.

    If a program changed, the rows of batch sizes that the search did not try again are outdated and removed.
    """
    tried, is_changed = set(), False

    def try_batch(batch_size):
        """Updates the row of a batch size; returns its bytes required, and whether it fits."""
        nonlocal is_changed
        tried.add(batch_size)
        row = plan.settings(settings, batch_size)
        stored = read_row(plan, row)
        updated = measure(row, stored)
        measurement = to_measurement(updated)
        if updated == stored:
            print(f"{row_name(plan, row)}: unchanged", flush=True)
        else:
            is_changed |= stored is not None
            write_row(plan, row, updated)
            print(f"{row_name(plan, row)}: {measurement.needed_memory / 2**30:.2f} GiB"
                  f"{'' if measurement.fits else ', too large'}; compiled in {measurement.compiling_seconds:.0f} s",
                  flush=True)
        return measurement.needed_memory, measurement.fits

    for batch_size in plan.batch_sizes:
        try_batch(batch_size)
    if plan.search:
        largest_batch.find(try_batch, max(plan.batch_sizes), settings.described_chip.capacity,
                           tries=settings.tries or None)
    for batch_size in set(stored_rows(plan, settings)) - tried if is_changed else ():
        os.remove(row_path(plan, plan.settings(settings, batch_size)))


def check(plans, settings, measure):
    """Lowers the stored rows of Plans again; raises InputError if their programs changed."""
    changed = []
    for plan in plans:
        for batch_size in stored_rows(plan, settings):
            row = plan.settings(settings, batch_size)
            stored = read_row(plan, row)
            is_same = measure(row, stored) == stored
            print(f"{row_name(plan, row)}: {'same program' if is_same else 'another program'}", flush=True)
            if not is_same:
                changed.append(row_name(plan, row))
    if changed:
        raise InputError(f"`rows_dir`={settings.rows_dir}: {len(changed)} rows have other programs, the first is "
                         f"{changed[0]}; compile them with `table`={UPDATE}")


def stored_rows(plan, settings):
    """Returns the stored rows of a plan: dict of batch size (of a micro-batch if there are several) to Measurement."""
    found = {}
    for batch_size in {*largest_batch.batch_sizes(8192), *plan.batch_sizes}:
        stored = read_row(plan, plan.settings(settings, batch_size))
        if stored is not None:
            found[batch_size] = to_measurement(stored)
    return dict(sorted(found.items()))


def row_name(plan, row):
    """Returns the name of a row, CompileSettings, and of its file without the extension."""
    return f"{row.chip}_{plan.name}_batch{row.batch_size}"


def row_path(plan, row):
    """Returns the file of a row, CompileSettings."""
    return os.path.join(row.rows_dir, f"{row_name(plan, row)}.json")


def write_row(plan, row, stored):
    """Writes a row, CompileSettings, from its dict."""
    with new_file(row_path(plan, row)) as file:
        json.dump(stored, file, indent=1)
        file.write("\n")


def read_row(plan, row):
    """Returns the dict of a stored row, or None if it does not exist or has other settings."""
    path = row_path(plan, row)
    if not files.at(path).exists():
        return None
    stored = read_json_object(path)
    return stored if stored["settings"] == key_of(row) else None


def to_measurement(stored):
    """Creates the Measurement of a stored row."""
    measurement = dict(stored["measurement"])
    if measurement["estimate"] is not None:
        measurement["estimate"] = Estimate(**measurement["estimate"])
    return Measurement(**measurement)


def key_of(row):
    """Returns a dict of the settings that determine the program of a row."""
    return {name: getattr(row, name) for name in SETTINGS}
