"""The cost of a compiled step: its memory, its required FLOPs, and an estimate of its time."""

import collections
import dataclasses
import re

from benchmarks.accelerator_compile import hlo, roofline
from benchmarks.accelerator_compile.settings import CLASSIFIER, ONE_HOT, SERVED
from benchmarks.flops import FORWARD_AND_BACKWARD, encoder_flops, pretraining_flops


@dataclasses.dataclass(frozen=True)
class Estimate:
    """Figures for a step that fits.

    Attributes:
      arguments, outputs, temporaries, program: int. Bytes of weights, optimizer state, and batch; of outputs that do
        not replace an argument; of activations and gradients; of code.
      flops: float. On a TPU, floating-point operations of all kinds, as counted by the compiler; on a GPU, those of the
        compiled matmuls.
      needed_flops: float. Floating-point operations of the matmuls that the model requires.
      seconds: float. On a TPU, the compiler's estimate of cycles, of all operations in sequence; on a GPU, the roofline
        time of all kernels.
      kernels, written: int. On a GPU, number of kernels that run, and bytes that they write; otherwise 0.
      operations: Dict of operation to its part of `seconds`, summed over layers, descending.
    """

    arguments: int
    outputs: int
    temporaries: int
    program: int
    flops: float
    needed_flops: float
    seconds: float
    kernels: int = 0
    written: int = 0
    operations: dict = dataclasses.field(default_factory=dict)

    @property
    def peak_memory(self):
        """Maximum bytes that the step holds at once."""
        return self.arguments + self.outputs + self.temporaries + self.program


def estimate(executable, needed_flops, chip, micro_batches=1):
    """Creates the Estimate of an executable from compiler.compile_module for a Chip.

    The TPU compiler counts the FLOPs of a loop's body once, so its count is multiplied by the number of micro-batches.
    This includes the optimizer update, which is outside the loop, but less than a hundredth of a micro-batch.
    """
    memory = executable.get_compiled_memory_stats()
    sizes = (memory.argument_size_in_bytes, memory.output_size_in_bytes - memory.alias_size_in_bytes,
             memory.temp_size_in_bytes, memory.generated_code_size_in_bytes)
    compiled = executable.hlo_modules()[0].to_string()
    if chip.is_tpu:
        flops = executable.cost_analysis()["flops"] * micro_batches
        seconds = {name: cycles / chip.clock for name, cycles in estimated_cycles(compiled).items()}
        return Estimate(*sizes, flops, needed_flops, sum(seconds.values()), operations=descending(seconds))
    kernels = roofline.find_kernels(compiled)
    seconds = collections.Counter()
    for kernel in kernels:
        seconds[kernel.operation] += kernel.seconds(chip)
    return Estimate(*sizes, sum(kernel.runs * sum(kernel.flops.values()) for kernel in kernels), needed_flops,
                    sum(seconds.values()), sum(kernel.runs for kernel in kernels),
                    sum(kernel.runs * kernel.written for kernel in kernels), descending(seconds))


def descending(seconds):
    """Sorts a dict by its values."""
    return dict(collections.Counter(seconds).most_common())


def needed_flops(settings, config, lookup):
    """Counts the FLOPs of the matmuls in a step of CompileSettings and a BertConfig."""
    sizes = settings.batch_size, settings.max_seq_length
    forward = encoder_flops(config, *sizes)
    if settings.workload == SERVED:
        return forward
    if settings.workload == CLASSIFIER:
        return FORWARD_AND_BACKWARD * forward
    return training_flops(config, *sizes, settings.max_predictions_per_seq, lookup == ONE_HOT)


def training_flops(config, batch_size, sequence_length, predictions, use_one_hot_embeddings):
    """Counts the FLOPs of the matmuls in a pre-training step, including one-hot lookups."""
    flops = batch_size * pretraining_flops(config, sequence_length, predictions)
    if use_one_hot_embeddings:  # The matrix's gradient is another matmul; the one-hot vectors have no gradient.
        flops += 2 * 2 * batch_size * sequence_length * config.vocab_size * config.hidden_size
    return flops


def estimated_cycles(compiled):
    """Returns the TPU compiler's estimates by operation: Counter of name to cycles, summed over layers.

    Args:
      compiled: str. Text of an HLO module compiled by libtpu. Instructions without an operation of the model have their
        own names. Instructions in a loop count once per iteration.
    """
    computations, _ = hlo.parse(compiled)
    rounds = hlo.rounds_of(computations)
    cycles = collections.Counter()
    for computation, instructions in computations.items():
        for instruction in instructions:
            found = re.search(r'"estimated_cycles":"(\d+)"', instruction.line)
            if found:
                cycles[instruction.operation] += int(found[1]) * rounds.get(computation, 1)
    return cycles
