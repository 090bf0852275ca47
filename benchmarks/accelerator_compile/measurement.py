"""Measurement of one step, from settings to figures."""

import dataclasses
import hashlib
import re
import time

import tensorflow as tf

from benchmarks.accelerator_compile import compiler, estimates, steps
from bert_tf.cli.resolution import read_config


@dataclasses.dataclass(frozen=True)
class Measurement:
    """Results of compiling one step.

    Attributes:
      estimate: estimates.Estimate, or None if the step does not fit on the chip.
      needed_memory: int. Bytes that the step requires.
      compiling_seconds: float. Time of the compiler on this machine.
    """

    estimate: estimates.Estimate | None
    needed_memory: int
    compiling_seconds: float

    @property
    def fits(self):
        """True if the chip's memory is sufficient."""
        return self.estimate is not None


def lower_step(settings, lookup):
    """Lowers the step of CompileSettings with a kind of embedding lookup, without TensorFloat-32, to StableHLO text."""
    tf.config.experimental.enable_tensor_float_32_execution(False)  # As run.training.strategies does.
    config = read_config(settings.bert_config_file, settings.max_seq_length)
    return compiler.lower(*steps.traced_step(settings, config, lookup), settings.described_chip.is_tpu)


def fingerprint(module):
    """Returns a hash of StableHLO text, without source locations and the number in the module's name."""
    text = re.sub(r"^#loc.*\n| loc\(.*\)$", "", module, flags=re.MULTILINE)
    return hashlib.sha256(re.sub(r"^module @\S+", "module", text).encode()).hexdigest()[:16]


def measure_module(settings, lookup, module):
    """Compiles StableHLO text of the step of CompileSettings; returns a Measurement.

    Raises:
      InputError: See compiler.check_installed.
      ValueError: If the compiler rejects the step.
    """
    chip = settings.described_chip
    config = read_config(settings.bert_config_file, settings.max_seq_length)
    start = time.monotonic()
    try:
        executable = compiler.compile_module(module, settings.chip, settings.compiler_options)
    except compiler.OutOfMemoryError as error:
        return Measurement(None, error.needed, time.monotonic() - start)
    seconds = time.monotonic() - start
    estimate = estimates.estimate(executable, estimates.needed_flops(settings, config, lookup), chip,
                                  settings.accumulate_steps)
    fits = estimate.peak_memory <= chip.capacity  # The GPU's compiler accepts larger steps.
    return Measurement(estimate if fits else None, estimate.peak_memory, seconds)
