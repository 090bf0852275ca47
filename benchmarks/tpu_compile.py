"""The real pre-training step compiled by the TPU's own compiler, on a machine without a TPU.

    pip install -e '.[tpu-check]'
    python -m benchmarks.tpu_compile

What run_pretraining does on each replica in a step (forward, losses, backward, clipping, AdamW), in mixed_bfloat16, is
traced with static shapes, lowered by TensorFlow to StableHLO, and compiled by libtpu for one chip of a TPU topology.
Memory and FLOPs are the compiler's own figures. Nothing runs: times are arithmetic or the compiler's estimate, and
neither the sum of gradients over chips nor the input pipeline is in them.
"""

import collections
import dataclasses
import importlib.util
import os
import re
import sys
import time

import tensorflow as tf

from bert_tf import losses, models, optimization
from bert_tf.cli import flags, script
from bert_tf.cli.settings import Settings, setting
from bert_tf.errors import InputError
from data_prep import records
from run.pretraining import job
from run.settings.model import read_config
from run.training import utilisation
from run.training.step import Trainer

LOOKUPS = ("gather", "one_hot")
UTILISATION = 0.5  # what the arithmetic supposes of the peak


@dataclasses.dataclass(frozen=True)
class Chip:
    """A TPU chip as Google Cloud documents it: memory in bytes, bfloat16 FLOP/s, clock in Hz.

    The clock follows from the peak: 4 matrix units of 128 x 128 multiply-adds in a v5e, 2 of 256 x 256 in a v6e.
    """

    memory: float
    peak: float
    clock: float


CHIPS = {"v5e": Chip(16 * 2**30, 197e12, 1.5e9), "v6e": Chip(32 * 2**30, 918e12, 1.75e9)}

# libtpu otherwise asks a metadata server which machine this is, keeps other processes out, and writes logs.
LIBTPU_ENVIRONMENT = {
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_LOG_DIR": "disabled",
    "TPU_MIN_LOG_LEVEL": "3",
}


@dataclasses.dataclass(frozen=True)
class TpuCompileSettings(Settings):
    """What is compiled, and for which TPU."""

    bert_config_file: str = setting("base", "bert_config.json of the model, or the name of a published size.")
    batch_size: int = setting(32, "Examples in a step on one chip.", lower=1)
    max_seq_length: int = setting(128, "Sequence length in tokens.", lower=4)
    max_predictions_per_seq: int = setting(20, "Masked positions in a sequence.", lower=1)
    lookup: tuple[str, ...] = setting(LOOKUPS, "How words are looked up: by a gather, or by a product with one-hot "
                                               "vectors; each is compiled.")
    recompute_activations: bool = setting(False, "Compute activations again in the backward pass.")
    topology: str = setting("v5e:2x2", "TPU to compile for: kind (" + ", ".join(CHIPS) + ") and layout of its chips, "
                                       "of which the step uses one.")
    top: int = setting(10, "How many of the costliest operations to list.", lower=0)

    def check(self):
        """See Settings."""
        if self.topology.split(":")[0] not in CHIPS:
            raise InputError(f"`topology`={self.topology}: must begin with {' or '.join(CHIPS)}, as in v5e:2x2")
        for lookup in self.lookup:
            if lookup not in LOOKUPS:
                raise InputError(f"`lookup`={lookup}: it must be one of {', '.join(LOOKUPS)}")


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
    device = first_device(settings.topology)
    sizes = settings.batch_size, settings.max_seq_length, settings.max_predictions_per_seq
    print(f"BERT of {config.num_hidden_layers} layers, width {config.hidden_size}; {sizes[0]} x {sizes[1]} tokens, "
          f"{sizes[2]} predictions; mixed_bfloat16; one chip of {settings.topology}", flush=True)
    for lookup in settings.lookup:
        step, features = training_step(config, *sizes, lookup == "one_hot", settings.recompute_activations)
        start = time.monotonic()
        module = lower(step, features)
        lowered = time.monotonic()
        executable = compile_for_tpu(module, device)
        print(f"\nwords looked up by {lookup}: traced and lowered in {lowered - start:.0f} s, compiled in "
              f"{time.monotonic() - lowered:.0f} s; operations refused: none")
        print_memory(executable.get_compiled_memory_stats(), chip)
        print_flops(executable.cost_analysis()["flops"], training_flops(config, *sizes, lookup == "one_hot"), chip)
        print_cycles(estimated_cycles(executable.hlo_modules()[0].to_string()), chip, settings.top)
        sys.stdout.flush()


def first_device(topology):
    """A device to compile for, of a topology such as "v5e:2x2".

    Raises:
      InputError: JAX or libtpu is not installed, or libtpu knows no such topology.
    """
    for package in ("jax", "libtpu"):
        if importlib.util.find_spec(package) is None:
            raise InputError(f"{package} is not installed: pip install -e '.[tpu-check]'")
    for name, value in LIBTPU_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    from jax.experimental import topologies  # an optional extra, which reads the environment as it is imported

    try:
        return topologies.get_topology_desc(topology, "tpu").devices[0]
    except RuntimeError as error:
        raise InputError(f"`topology`={topology}: {error}") from error


def training_step(config, batch_size, sequence_length, predictions, use_one_hot_embeddings, recompute_activations):
    """The step of run_pretraining on one replica, as a function for XLA, and a batch of features for it."""
    strategy = tf.distribute.OneDeviceStrategy("CPU:0")
    with strategy.scope():
        model = models.BertPretrainer(models.BertEncoder(
            config, use_one_hot_embeddings=use_one_hot_embeddings, recompute_activations=recompute_activations,
            dtype="mixed_bfloat16"))
        optimizer = optimization.create_optimizer(1e-4, 100_000, 10_000)
        optimizer.build(model.trainable_variables)
    trainer = Trainer(strategy, model, optimizer, losses.pretraining_loss, job.LOSS_NAMES)

    @tf.function(jit_compile=True)
    def step(features):
        trainer.train_step(iter([features]))

    features = {feature.name: tf.zeros([batch_size, feature.length], tf.float32 if feature.is_float else tf.int32)
                for feature in records.pretraining_features(sequence_length, predictions)}
    return step, features


def lower(step, *arguments):
    """Lowers a tf.function to the StableHLO text that a TPU would be given.

    TensorFlow has no TPU to lower for here, and lowers for the CPU. Two things differ. It writes MHLO's copy, which
    the TPU compiler does not read, in front of updated variables: here a reshape to the same shape. And tf.random's
    stateless draws, dropout's, come from Philox on a CPU but on a TPU from the chip's own generator, seeded with two
    numbers (TensorFlow's `DefaultRngAlgForDeviceType`); tf.random.Generator stays with Philox.

    Raises:
      ValueError: XLA refuses an operation; it is named.
    """
    write_module = step.experimental_get_compiler_ir(*arguments)
    try:
        module = write_module(stage="stablehlo", platform_name="CPU")
    except ValueError as error:
        names = re.findall(r"\w+(?= \(No registered)|(?<= with op )\w+", str(error))
        reason = str(error).splitlines()[0]
        raise ValueError(f"XLA refuses {', '.join(dict.fromkeys(names)) or 'the step'}: {reason}") from error
    module = re.sub(r"mhlo\.copy (%\S+) : (tensor<\S+>)", r"stablehlo.reshape \1 : (\2) -> \2", module)
    return re.sub(
        r"(%\w+), (%\w+) = stablehlo\.rng_bit_generator (%\w+), algorithm = +PHILOX : "
        r"\(tensor<3xui64>\) -> \(tensor<3xui64>, (tensor<\w+xui32>)\)",
        r"\1_seed = stablehlo.slice \3 [0:2] : (tensor<3xui64>) -> tensor<2xui64>\n"
        r"\1_state, \2 = stablehlo.rng_bit_generator \1_seed, algorithm = DEFAULT : "
        r"(tensor<2xui64>) -> (tensor<2xui64>, \4)\n"
        r"\1 = stablehlo.reshape \3 : (tensor<3xui64>) -> tensor<3xui64>", module)


def compile_for_tpu(module, device):
    """Compiles StableHLO text for one device of a topology; returns JAX's executable, which cannot run.

    Raises:
      ValueError: the compiler refuses the module.
    """
    from jax.interpreters import mlir  # an optional extra
    from jaxlib import xla_client
    from jaxlib.mlir import ir

    try:
        with mlir.make_ir_context():
            return device.client.compile(ir.Module.parse(module), executable_devices=xla_client.DeviceList((device,)),
                                         compile_options=xla_client.CompileOptions())
    except (RuntimeError, ir.MLIRError) as error:
        raise ValueError(f"the TPU compiler refuses the step: {error}") from error


def training_flops(config, batch_size, sequence_length, predictions, use_one_hot_embeddings):
    """Multiplications and additions of the matrix products of a step, those of one-hot look-ups included."""
    flops = batch_size * utilisation.pretraining_flops(config, sequence_length, predictions)
    if use_one_hot_embeddings:  # the table's gradient is one more product; the one-hot vectors have none
        flops += 2 * 2 * batch_size * sequence_length * config.vocab_size * config.hidden_size
    return flops


def estimated_cycles(compiled):
    """The compiler's estimates by operation: Counter of name -> cycles; the layers' are summed.

    Args:
      compiled: text of an HLO module as libtpu compiled it. An instruction that no operation of the model asked for
        goes by its own name.
    """
    cycles = collections.Counter()
    for line in compiled.splitlines():
        estimate = re.search(r'"estimated_cycles":"(\d+)"', line)
        if estimate:
            name = re.search(r'op_name="([^";]*)', line)
            name = name[1] if name else re.search(r"%([a-z-]+)", line)[1]
            cycles[re.sub(r"_\d+(?=/|$)", "", name)] += int(estimate[1])
    return cycles


def print_memory(stats, chip):
    """Prints what the step holds of a chip's memory; a variable's new value takes the place of its old."""
    parts = {
        "arguments: weights, moments, batch": stats.argument_size_in_bytes,
        "outputs that are not updated in place": stats.output_size_in_bytes - stats.alias_size_in_bytes,
        "temporaries: activations, gradients": stats.temp_size_in_bytes,
        "program": stats.generated_code_size_in_bytes,
    }
    for name, size in parts.items():
        print(f"  {name:<40}{size / 2**20:>8.1f} MiB")
    peak = sum(parts.values())
    print(f"  {'peak':<40}{peak / 2**20:>8.1f} MiB, {peak / chip.memory:.0%} of the chip's "
          f"{chip.memory / 2**30:.0f} GiB")


def print_flops(compiled, analytic, chip):
    """Prints the compiler's count, which has all operations in it, beside ours, and what ours takes at the peak."""
    print(f"  {'FLOPs, by the compiler':<40}{compiled / 1e9:>8.1f} G")
    print(f"  {'FLOPs of the matrix products, counted':<40}{analytic / 1e9:>8.1f} G, {analytic / compiled:.0%} of it")
    print(f"  {'arithmetic: their time at the peak rate':<40}{analytic / chip.peak * 1e3:>8.1f} ms; at "
          f"{UTILISATION:.0%} of {chip.peak / 1e12:.0f} TFLOP/s {analytic / chip.peak / UTILISATION * 1e3:.1f} ms")


def print_cycles(cycles, chip, top):
    """Prints the compiler's estimate of time, and where it goes."""
    total = cycles.total()
    print(f"  {'estimate of the compiler, not measured':<40}{total / chip.clock * 1e3:>8.1f} ms: {total / 1e6:.1f} M "
          f"cycles at {chip.clock / 1e9:.2f} GHz, of which")
    for name, count in cycles.most_common(top):
        print(f"    {count / total:>6.1%}  {name}")


if __name__ == "__main__":
    script.run(main, define_flags)
