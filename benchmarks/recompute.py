"""Peak memory and time of a BERT-Base training step at 8 x 512, with and without activation checkpointing.

    python -m benchmarks.recompute

Each measurement runs in its own process, because the peak memory of a process never decreases.
"""

import dataclasses

from benchmarks import encoder as encoder_benchmark
from benchmarks import measurements
from bert_tf.cli import flags, script
from bert_tf.cli.resolution import read_config
from bert_tf.cli.settings import Settings, setting
from bert_tf.fast import Fast, FastEncoder


@dataclasses.dataclass(frozen=True)
class RecomputeSettings(Settings):
    """Settings for the measurement."""

    bert_config_file: str = setting("base", "bert_config.json of the model, or the name of a published size.")
    batch_size: int = setting(8, "Batch size.", lower=1)
    max_seq_length: int = setting(512, "Sequence length in tokens.", lower=8)
    max_predictions_per_seq: int = setting(20, "Maximum number of masked tokens per example.", lower=1)
    rounds: int = setting(3, "Number of steps to time.", lower=1)


def define_flags():
    """Defines the benchmark's flags."""
    flags.define(RecomputeSettings())


def main(argv):
    """Runs the benchmark with the settings from its flags."""
    del argv
    measure(flags.read(RecomputeSettings()))


def measure(settings, run=measurements.in_own_process):
    """Prints both measurements and their ratios.

    Args:
      settings: RecomputeSettings.
      run: Callable of (function, *arguments) that returns the function's result. Tests run it in their own process.
    """
    results = {}
    for name, recompute in (("kept", False), ("recomputed", True)):
        peak, seconds = results[name] = run(training_step, settings, recompute)
        print(f"activations {name:<11} peak {peak:6.2f} GB   step {seconds:7.2f} s", flush=True)
    memory, seconds = (after / before for before, after in zip(*results.values(), strict=True))
    print(f"recomputing takes {memory:.2f} times the memory and {seconds:.2f} times the time")


def training_step(settings, recompute):
    """Returns the peak resident memory of this process in GB, and the median seconds of a training step."""
    config = read_config(settings.bert_config_file, settings.max_seq_length)
    features = encoder_benchmark.make_batch(
        config, settings.batch_size, settings.max_seq_length, settings.max_predictions_per_seq)
    step = encoder_benchmark.our_step(FastEncoder(config, Fast(recompute=recompute)), features)
    times = measurements.time_turns({"step": lambda: step().numpy()}, settings.rounds)
    return peak_memory(), measurements.medians(times)["step"]


def peak_memory():
    """Returns the peak resident memory of this process in GB; Linux only.

    getrusage's ru_maxrss is unsuitable, because it starts with the memory of the parent process.
    """
    with open("/proc/self/status", encoding="ascii") as file:
        kilobytes = next(line.split()[1] for line in file if line.startswith("VmHWM:"))
    return int(kilobytes) * 1024 / 1e9


if __name__ == "__main__":
    script.run(main, define_flags)
