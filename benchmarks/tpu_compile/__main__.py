"""Compiles training steps for a TPU: one step with a report, or the table of the largest batches.

    pip install -e '.[tpu-check]'
    python -m benchmarks.tpu_compile
    python -m benchmarks.tpu_compile --table
"""

import sys

from benchmarks.tpu_compile import compiler, report, table
from benchmarks.tpu_compile.measurement import measure_step
from benchmarks.tpu_compile.settings import PEER, PRETRAINING, SERVED, TpuCompileSettings
from bert_tf.cli import flags, script
from bert_tf.cli.resolution import read_config
from bert_tf.errors import InputError


def define_flags():
    """Defines the benchmark's flags."""
    flags.define(TpuCompileSettings())


def main(argv):
    """Compiles with the settings from the flags."""
    del argv
    measure(flags.read(TpuCompileSettings()))


def measure(settings):
    """Compiles the rows of the table, or a step with each kind of embedding lookup; settings: TpuCompileSettings."""
    compiler.first_device(settings.topology)  # The compiler must be installed and know the topology.
    if settings.table:
        table.run(settings)
        return
    config = read_config(settings.bert_config_file, settings.max_seq_length)
    predictions = f", {settings.max_predictions_per_seq} predictions" * (settings.workload in (PRETRAINING, PEER))
    print(f"BERT with {config.num_hidden_layers} layers, hidden size {config.hidden_size}; {settings.batch_size} x "
          f"{settings.max_seq_length} tokens{predictions}; "
          f"{'float32' if settings.workload == SERVED else 'mixed_bfloat16'}; one chip of {settings.topology}",
          flush=True)
    for lookup in settings.lookups:
        measurement = measure_step(settings, lookup)
        print(f"\nwords looked up by {lookup}: traced and lowered in {measurement.lowering_seconds:.0f} s, compiled in "
              f"{measurement.compiling_seconds:.0f} s; rejected operations: none")
        if not measurement.fits:
            raise InputError(f"`batch_size`={settings.batch_size}: the step needs "
                             f"{measurement.needed_memory / 2**30:.2f} GiB, more than the chip has")
        report.print_estimate(measurement.estimate, settings.chip, settings.top)
        sys.stdout.flush()


if __name__ == "__main__":
    script.run(main, define_flags)
