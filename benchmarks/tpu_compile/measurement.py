"""One step, from settings to its figures."""

import dataclasses
import time

from benchmarks.tpu_compile import compiler, estimates, steps
from bert_tf.cli.resolution import read_config


@dataclasses.dataclass(frozen=True)
class Measurement:
    """What compiling one step gave.

    Attributes:
      estimate: estimates.Estimate; None if the step does not fit the chip.
      needed_memory: bytes that the step needs.
      lowering_seconds, compiling_seconds: of this machine, in TensorFlow and in libtpu.
    """

    estimate: estimates.Estimate | None
    needed_memory: int
    lowering_seconds: float
    compiling_seconds: float

    @property
    def fits(self):
        """Whether the chip's memory suffices."""
        return self.estimate is not None


def measure_step(settings, lookup):
    """Compiles the step of TpuCompileSettings; returns a Measurement.

    Args:
      settings: TpuCompileSettings.
      lookup: one of settings.LOOKUPS.

    Raises:
      InputError: a config that cannot be used, a topology that libtpu does not know, or no libtpu.
      ValueError: the step cannot be lowered or compiled.
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
