"""Compiles the rows of the table, stores each row when it is finished, and prints the stored rows."""

import dataclasses
import importlib.metadata
import json
import os

from benchmarks import measurements
from benchmarks.tpu_compile import largest_batch, layout
from benchmarks.tpu_compile.estimates import Estimate
from benchmarks.tpu_compile.measurement import Measurement, measure_step
from benchmarks.tpu_compile.plans import PLANS
from bert_tf.cli.paths import check_output_dir
from bert_tf.files import exists, make_dirs, new_file, read_json_object

PACKAGES = ("tensorflow", "tf-models-official", "jax", "jaxlib", "libtpu")


def run(settings, plans=PLANS, measure=None):
    """Compiles the rows that are not stored yet, in one process each, in sequence, and prints the table.

    Args:
      settings: TpuCompileSettings.
      plans: The Plans of the table.
      measure: Callable of TpuCompileSettings that returns a Measurement. Tests pass their own.
    """
    check_output_dir("table_dir", settings.table_dir)
    make_dirs(settings.table_dir)
    for plan in plans:
        if settings.only in plan.name:
            complete(plan, settings, measure or measure_in_own_process)
    layout.print_table([(plan, kept_rows(plan, settings)) for plan in plans], settings.chip, settings.format)


def measure_in_own_process(settings):
    """Measures TpuCompileSettings in a separate process, to release its memory afterwards."""
    return measurements.in_own_process(measure_step, settings, settings.lookup[0])


def complete(plan, settings, measure):
    """Compiles the rows of a plan that are not stored, and the rows that the search for the largest batch requires."""
    def try_batch(batch_size):
        row = plan.settings(settings, batch_size)
        measurement = read_row(plan, row)
        if measurement is None:
            measurement = measure(row)
            keep_row(plan, row, measurement)
            print(f"{plan.name}, {row.batch_size} examples: {measurement.needed_memory / 2**30:.2f} GiB"
                  f"{'' if measurement.fits else ', too large'}; lowered in {measurement.lowering_seconds:.0f} s, "
                  f"compiled in {measurement.compiling_seconds:.0f} s", flush=True)
        return measurement.needed_memory, measurement.fits

    for batch_size in plan.batch_sizes:
        try_batch(batch_size)
    if plan.search:
        largest_batch.find(try_batch, max(plan.batch_sizes), largest_batch.capacity(settings.chip),
                           tries=settings.tries or None)


def kept_rows(plan, settings):
    """Returns the stored rows of a plan: dict of batch size (of a micro-batch if there are several) to Measurement."""
    found = {}
    for batch_size in {*largest_batch.batch_sizes(8192), *plan.batch_sizes}:
        measurement = read_row(plan, plan.settings(settings, batch_size))
        if measurement is not None:
            found[batch_size] = measurement
    return dict(sorted(found.items()))


def row_path(plan, row):
    """Returns the file of a row, TpuCompileSettings."""
    kind = row.topology.replace(":", "_")
    return os.path.join(row.table_dir, f"{plan.name}_batch{row.batch_size}_{kind}.json")


def keep_row(plan, row, measurement):
    """Writes a row with the package versions."""
    versions = {package: importlib.metadata.version(package) for package in PACKAGES if is_installed(package)}
    with new_file(row_path(plan, row)) as file:
        json.dump({"row": key_of(row), "versions": versions, "measurement": dataclasses.asdict(measurement)}, file,
                  indent=1)
        file.write("\n")


def read_row(plan, row):
    """Returns the stored Measurement of a row, or None if it does not exist or has other settings."""
    path = row_path(plan, row)
    if not exists(path):
        return None
    kept = read_json_object(path)
    if kept["row"] != key_of(row):
        return None
    measurement = kept["measurement"]
    if measurement["estimate"] is not None:
        measurement["estimate"] = Estimate(**measurement["estimate"])
    return Measurement(**measurement)


def key_of(row):
    """Returns a dict of the settings that determine the figures of a row."""
    names = ("workload", "bert_config_file", "batch_size", "max_seq_length", "max_predictions_per_seq", "optimizer",
             "accumulate_steps", "recompute_activations", "topology")
    return {name: getattr(row, name) for name in names}


def is_installed(package):
    """Returns whether a distribution is installed."""
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
