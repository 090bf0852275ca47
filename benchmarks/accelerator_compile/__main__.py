"""Compiles training steps for a TPU or a GPU: one step with a report, or the rows of a table.

    pip install -e '.[tpu-check]'
    python -m benchmarks.accelerator_compile
    pip install -e '.[gpu-check]'
    python -m benchmarks.accelerator_compile --chip=h100
    python -m benchmarks.accelerator_compile --table=update --chip=h100

Install each extra in its own environment.
"""

import sys
import time

from benchmarks.accelerator_compile import compiler, report, table
from benchmarks.accelerator_compile.measurement import lower_step, measure_module
from benchmarks.accelerator_compile.settings import CompileSettings
from bert_tf.cli import flags, script
from bert_tf.cli.resolution import read_config
from bert_tf.errors import InputError


def define_flags():
    """Defines the benchmark's flags."""
    flags.define(CompileSettings())


def main(argv):
    """Compiles with the settings from the flags."""
    del argv
    measure(flags.read(CompileSettings()))


def measure(settings):
    """Compiles the rows of the table, or a step with each kind of embedding lookup; settings: CompileSettings."""
    if settings.table:
        table.run(settings)
        return
    compiler.check_installed(settings.chip)
    config = read_config(settings.bert_config_file, settings.max_seq_length)
    predictions = f", {settings.max_predictions_per_seq} predictions" * settings.is_pretraining
    print(f"BERT with {config.num_hidden_layers} layers, hidden size {config.hidden_size}; {settings.batch_size} x "
          f"{settings.max_seq_length} tokens{predictions}; {settings.policy}; one {settings.described_chip.title}",
          flush=True)
    for lookup in settings.lookups:
        start = time.monotonic()
        module = lower_step(settings, lookup)
        seconds = time.monotonic() - start
        measurement = measure_module(settings, lookup, module)
        print(f"\nwords looked up by {lookup}: traced and lowered in {seconds:.0f} s, compiled in "
              f"{measurement.compiling_seconds:.0f} s; rejected operations: none")
        if not measurement.fits:
            raise InputError(f"`batch_size`={settings.batch_size}: the step needs "
                             f"{measurement.needed_memory / 2**30:.2f} GiB, more than the chip has")
        report.print_estimate(measurement.estimate, settings.described_chip, settings.top)
        sys.stdout.flush()


if __name__ == "__main__":
    script.run(main, define_flags)
