"""Compiles a training step for a TPU or a GPU that is not attached.

The results are whether the step fits, its memory, and the largest batch. The code that each replica
runs is traced with static shapes, lowered by TensorFlow to StableHLO, and compiled by libtpu or
XLA's GPU compiler. Nothing runs. The sum of gradients over chips, the placement by TPUStrategy, and
the input are not included. Compile models of full depth: a few layers do not predict twelve.

    pip install -e '.[tpu-check]'
    python -m benchmarks.accelerator_compile --chip=v5e --batch_size=32 --largest_batch
    pip install -e '.[gpu-check]'
    python -m benchmarks.accelerator_compile --chip=h100

Install each extra in its own environment.
"""

import bisect
import dataclasses
import re
import time
from typing import NamedTuple

import tensorflow as tf

from benchmarks.accelerator_compile import compiler, steps
from benchmarks.accelerator_compile.chips import CHIPS, GIB
from bert_tf.cli import script
from bert_tf.cli.resolution import read_model_config
from bert_tf.cli.settings import Settings, setting
from bert_tf.errors import InputError

SIZES = tuple(size << power for power in range(12) for size in (4, 5, 6, 7))  # Batch sizes to try.


@dataclasses.dataclass(frozen=True)
class CompileSettings(Settings):
    """Settings for the step to compile and the chip."""

    chip: str = setting("v5e", "Chip to compile for.", choices=tuple(CHIPS))
    workload: str = setting(
        steps.PRETRAINING,
        "Step of run_pretraining, of run_classifier, or of tf-models-official's pre-training.",
        choices=steps.WORKLOADS,
    )
    bert_config_file: str = setting(
        "base", "bert_config.json of the model, or the name of a published size."
    )
    batch_size: int = setting(32, "Batch size of one chip.", min_value=1)
    max_seq_length: int = setting(128, "Sequence length in tokens.", min_value=4)
    max_predictions_per_seq: int = setting(
        20, "Maximum number of masked tokens per sequence.", min_value=1
    )
    optimizer: str = setting("adamw", "Optimizer.", choices=("adamw", "lamb"))
    recompute_activations: bool = setting(False, "Recompute activations in the backward pass.")
    largest_batch: bool = setting(
        False, "Also search for the largest batch that fits, up to a quarter."
    )


COMMAND = script.Command(CompileSettings(), __name__)


class Measurement(NamedTuple):
    """Properties of a compiled step."""

    memory: int  # Bytes that the step requires.
    fits: bool  # Whether these are available on the chip.
    seconds: float | None = None  # On a TPU, the compiler's estimate of the step's time.


def run(settings):
    """Prints the results for CompileSettings.

    Raises InputError if the step needs more memory than the chip has.
    """
    compiler.check_installed(settings.chip)
    chip = CHIPS[settings.chip]
    start = time.monotonic()
    measurement = compile_step(settings)
    print(
        f"{settings.workload}, {settings.bert_config_file}, {settings.batch_size} x "
        f"{settings.max_seq_length} tokens: compiled for one {chip.title} in "
        f"{time.monotonic() - start:.0f} s, no operation was rejected"
    )
    print(f"memory: {measurement.memory / GIB:.2f} of {chip.capacity / GIB:.2f} GiB")
    if measurement.seconds:
        print(
            f"time: {measurement.seconds * 1e3:.1f} ms, the compiler's estimate, "
            f"{settings.batch_size / measurement.seconds:,.0f} examples/s"
        )
    if not measurement.fits:
        raise InputError(
            "the step needs more memory than the chip has", "batch_size", settings.batch_size
        )
    if settings.largest_batch:
        print(f"largest batch: {find_largest_batch(settings)}")


def compile_step(settings):
    """Compiles the step of CompileSettings; returns a Measurement.

    Raises ValueError if an operation is rejected.
    """
    # run.training.strategies does the same.
    tf.config.experimental.enable_tensor_float_32_execution(False)
    chip = CHIPS[settings.chip]
    config = read_model_config(settings.bert_config_file, settings.max_seq_length)
    module = compiler.lower(*steps.create_step(settings, config, chip.is_tpu), chip.is_tpu)
    try:
        executable = compiler.compile_module(module, settings.chip)
    except compiler.OutOfMemoryError as error:
        return Measurement(error.needed, False)
    stats = executable.get_compiled_memory_stats()
    memory = (
        stats.argument_size_in_bytes
        + stats.output_size_in_bytes
        - stats.alias_size_in_bytes
        + stats.temp_size_in_bytes
        + stats.generated_code_size_in_bytes
    )
    seconds = None
    if chip.is_tpu:
        seconds = estimate_seconds(executable.hlo_modules()[0].to_string(), chip.clock)
    # The memory can be too small, because the GPU's compiler accepts larger steps.
    return Measurement(memory, memory <= chip.capacity, seconds)


def estimate_seconds(compiled, clock):
    """Returns the TPU compiler's estimate of the seconds for an HLO module's text.

    It is the sum of the cycles of all operations, in sequence, at the chip's `clock` in Hz.
    """
    return sum(map(int, re.findall(r'"estimated_cycles":"(\d+)"', compiled))) / clock


def find_largest_batch(settings):
    """Returns the largest of SIZES that fits, by bisection.

    `settings` are CompileSettings of a step that fits.
    """

    def is_too_large(size):
        return not compile_step(dataclasses.replace(settings, batch_size=size)).fits

    sizes = [settings.batch_size, *(size for size in SIZES if size > settings.batch_size)]
    first_too_large = bisect.bisect_left(sizes, True, lo=1, key=is_too_large)
    return sizes[first_too_large - 1]


if __name__ == "__main__":
    COMMAND.run()
