"""Measurement of one step, from settings to figures."""

import dataclasses
import time

from benchmarks.tpu_compile import compiler, estimates, steps
from bert_tf.cli.resolution import read_config


@dataclasses.dataclass(frozen=True)
class Measurement:
    """Results of compiling one step.

    Attributes:
      estimate: estimates.Estimate, or None if the step does not fit on the chip.
      needed_memory: int. Bytes that the step requires.
      lowering_seconds, compiling_seconds: float. Time on this machine, in TensorFlow and in libtpu.
    """

    estimate: estimates.Estimate | None
    needed_memory: int
    lowering_seconds: float
    compiling_seconds: float

    @property
    def fits(self):
        """True if the chip's memory is sufficient."""
        return self.estimate is not None


def measure_step(settings, lookup):
    """Compiles the step of TpuCompileSettings; returns a Measurement.

    Args:
      settings: TpuCompileSettings.
      lookup: str. One of settings.LOOKUPS.

    Raises:
      InputError: If the config is invalid, if libtpu does not know the topology, or if libtpu is not installed.
      ValueError: If the step cannot be lowered or compiled.
    """
    config = read_config(settings.bert_config_file, settings.max_seq_length)
    device = compiler.first_device(settings.topology)
    start = time.monotonic()
    module = compiler.lower(*steps.traced_step(settings, config, lookup))
    lowered = time.monotonic()
    try:
        executable = compiler.compile_for_tpu(module, device)
    except compiler.OutOfMemoryError as error:
        return Measurement(None, error.needed, lowered - start, time.monotonic() - lowered)
    estimate = estimates.estimate(executable, estimates.needed_flops(settings, config, lookup),
                                  settings.accumulate_steps)
    return Measurement(estimate, estimate.peak_memory, lowered - start, time.monotonic() - lowered)
