"""Compiles a training step for a TPU or a GPU that is not attached: whether it fits, its memory, and the largest batch.

    pip install -e '.[tpu-check]'
    python -m benchmarks.accelerator_compile --chip=v5e --batch_size=32 --largest_batch
    pip install -e '.[gpu-check]'
    python -m benchmarks.accelerator_compile --chip=h100
    python -m benchmarks.accelerator_compile --results

Install each extra in its own environment.
"""

import dataclasses
import json
import pathlib
import re
import time

import tensorflow as tf

from benchmarks.accelerator_compile import compiler, steps
from benchmarks.accelerator_compile.chips import CHIPS, GIB
from bert_tf.cli import flags, script
from bert_tf.cli.resolution import read_config
from bert_tf.cli.settings import Settings, setting
from bert_tf.errors import InputError

RESULTS = pathlib.Path(__file__).with_name("results.json")
SIZES = tuple(size << power for power in range(14) for size in (4, 5, 6, 7))  # Batch sizes to try.


@dataclasses.dataclass(frozen=True)
class CompileSettings(Settings):
    """Settings for the step to compile and the chip."""

    chip: str = setting("v5e", "Chip to compile for.", choices=tuple(CHIPS))
    workload: str = setting(
        steps.PRETRAINING, "Step of run_pretraining or run_classifier, or of tf-models-official's masked LM task.",
        choices=steps.WORKLOADS)
    bert_config_file: str = setting("base", "bert_config.json of the model, or the name of a published size.")
    batch_size: int = setting(32, "Batch size of one chip.", lower=1)
    max_seq_length: int = setting(128, "Sequence length in tokens.", lower=4)
    max_predictions_per_seq: int = setting(20, "Maximum number of masked tokens per sequence.", lower=1)
    optimizer: str = setting("adamw", "Optimizer of this project's step.", choices=("adamw", "lamb"))
    recompute_activations: bool = setting(False, "Recompute activations in the backward pass.")
    compiler_options: tuple[str, ...] = setting(
        (), "Options for the compiler, NAME=VALUE, separated by commas.")
    largest_batch: bool = setting(False, "Also search for the largest batch that fits, up to a quarter.")
    results: bool = setting(False, "Instead, print the results of this page's models as a table.")

    def check(self):
        """See Settings."""
        for option in self.compiler_options:
            if "=" not in option:
                raise InputError("must be NAME=VALUE", "compiler_options", option)


@dataclasses.dataclass(frozen=True)
class Measurement:
    """Results of compiling a step: bytes, whether they fit on the chip, and, on a TPU, the compiler's estimate."""

    memory: int
    fits: bool
    seconds: float | None = None


def define_flags():
    """Defines the benchmark's flags."""
    flags.define(CompileSettings())


def main(argv):
    """Compiles with the settings from the flags."""
    del argv
    measure(flags.read(CompileSettings()))


def measure(settings):
    """Prints the results for CompileSettings; raises InputError if the step needs more memory than the chip has."""
    if settings.results:
        print(format_results(json.loads(RESULTS.read_text(encoding="utf-8"))))
        return
    compiler.check_installed(settings.chip)
    chip = CHIPS[settings.chip]
    start = time.monotonic()
    measurement = compile_step(settings)
    print(f"{settings.workload}, {settings.bert_config_file}, {settings.batch_size} x {settings.max_seq_length} "
          f"tokens: compiled for one {chip.title} in {time.monotonic() - start:.0f} s, no operation was rejected")
    print(f"memory: {measurement.memory / GIB:.2f} of {chip.capacity / GIB:.2f} GiB")
    if measurement.seconds:
        print(f"time: {measurement.seconds * 1e3:.1f} ms, the compiler's estimate, "
              f"{settings.batch_size / measurement.seconds:,.0f} examples/s")
    if not measurement.fits:
        raise InputError("the step needs more memory than the chip has", "batch_size", settings.batch_size)
    if settings.largest_batch:
        print(f"largest batch: {find_largest_batch(settings, measurement)}")


def compile_step(settings):
    """Compiles the step of CompileSettings; returns a Measurement.

    Raises:
      InputError: See compiler.check_installed.
      ValueError: If the compiler rejects an operation.
    """
    tf.config.experimental.enable_tensor_float_32_execution(False)  # As run.training.strategies does.
    chip, config = CHIPS[settings.chip], read_config(settings.bert_config_file, settings.max_seq_length)
    module = compiler.lower(*steps.traced_step(settings, config, chip.is_tpu), chip.is_tpu)
    try:
        executable = compiler.compile_module(module, settings.chip, settings.compiler_options)
    except compiler.OutOfMemoryError as error:
        return Measurement(error.needed, False)
    stats = executable.get_compiled_memory_stats()
    memory = (stats.argument_size_in_bytes + stats.output_size_in_bytes - stats.alias_size_in_bytes
              + stats.temp_size_in_bytes + stats.generated_code_size_in_bytes)
    seconds = estimate_seconds(executable.hlo_modules()[0].to_string(), chip.clock) if chip.is_tpu else None
    return Measurement(memory, memory <= chip.capacity, seconds)  # The GPU's compiler accepts larger steps.


def estimate_seconds(compiled, clock):
    """Returns the TPU compiler's estimate for an HLO module's text: the cycles of all operations in sequence."""
    return sum(map(int, re.findall(r'"estimated_cycles":"(\d+)"', compiled))) / clock


def find_largest_batch(settings, measurement, compile_step=compile_step):
    """Returns the largest of SIZES that fits. `measurement`: Measurement of `settings`, which fits.

    Memory grows about linearly with the batch, so each size to try is where a line reaches the chip's memory.
    """
    capacity, tried = CHIPS[settings.chip].capacity, {settings.batch_size: measurement}
    while True:
        fitting = max(size for size, found in tried.items() if found.fits)
        too_large = min((size for size, found in tried.items() if not found.fits), default=float("inf"))
        between = [size for size in SIZES if fitting < size < too_large]
        if not between:
            return fitting
        near, far = sorted(tried, key=lambda size: abs(tried[size].memory - capacity))[:2] if len(tried) > 1 else (
            fitting, 0)
        far_memory = tried[far].memory if far else tried[near].memory / 2  # Half of it does not depend on the batch.
        slope = (tried[near].memory - far_memory) / (near - far)
        limit = near + (capacity - tried[near].memory) / slope if slope > 0 else 2 * fitting
        size = max([each for each in between if each <= limit] or between[:1])
        tried[size] = compile_step(dataclasses.replace(settings, batch_size=size))


def format_results(rows):
    """Formats results as a Markdown table; rows: list of dicts with the keys of results.json."""
    names = {steps.PRETRAINING: "this project", steps.PEER: "tf-models-official"}
    lines = ["| chip | model | tokens | step of | memory, GiB | estimate, ms | largest batch |",
             "| --- | --- | --- | --- | ---: | ---: | ---: |"]
    for row in rows:
        values = (CHIPS[row["chip"]].title, row["model"], f"{row['batch']} x {row['length']}", names[row["workload"]],
                  f"{row['gib']:.2f}", row.get("ms", ""), row.get("largest_batch", ""))
        lines.append(f"| {' | '.join(map(str, values))} |")
    return "\n".join(lines)


if __name__ == "__main__":
    script.run(main, define_flags)
