"""The training step of pre-training, compiled for a TPU.

    pip install -e '.[tpu-check]'
    python -m benchmarks.tpu_compile
"""

import sys
import time

from benchmarks.tpu_compile import compiler, estimates, report, steps
from benchmarks.tpu_compile.chips import CHIPS
from benchmarks.tpu_compile.settings import TpuCompileSettings
from bert_tf.cli import flags, script
from run.settings.model import read_config


def define_flags():
    """Defines the benchmark's flags."""
    flags.define(TpuCompileSettings())


def main(argv):
    """Compiles with the flags' settings."""
    del argv
    measure(flags.read(TpuCompileSettings()))


def measure(settings):
    """Compiles the step and prints a report for each way of looking words up; settings: TpuCompileSettings."""
    config = read_config(settings.bert_config_file, settings.max_seq_length)
    chip = CHIPS[settings.topology.split(":")[0]]
    device = compiler.first_device(settings.topology)
    sizes = settings.batch_size, settings.max_seq_length, settings.max_predictions_per_seq
    print(f"BERT of {config.num_hidden_layers} layers, width {config.hidden_size}; {sizes[0]} x {sizes[1]} tokens, "
          f"{sizes[2]} predictions; mixed_bfloat16; one chip of {settings.topology}", flush=True)
    for lookup in settings.lookup:
        step, features = steps.training_step(config, *sizes, lookup == "one_hot", settings.recompute_activations)
        start = time.monotonic()
        module = compiler.lower(step, features)
        lowered = time.monotonic()
        executable = compiler.compile_for_tpu(module, device)
        print(f"\nwords looked up by {lookup}: traced and lowered in {lowered - start:.0f} s, compiled in "
              f"{time.monotonic() - lowered:.0f} s; operations refused: none")
        report.print_memory(executable.get_compiled_memory_stats(), chip)
        report.print_flops(executable.cost_analysis()["flops"],
                           estimates.training_flops(config, *sizes, lookup == "one_hot"), chip)
        report.print_cycles(estimates.estimated_cycles(executable.hlo_modules()[0].to_string()), chip, settings.top)
        sys.stdout.flush()


if __name__ == "__main__":
    script.run(main, define_flags)
