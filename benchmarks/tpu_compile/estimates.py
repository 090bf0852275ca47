"""The cost of a compiled step: its memory, its required FLOPs, and the compiler's estimate of cycles."""

import collections
import dataclasses
import re

from benchmarks.tpu_compile.settings import CLASSIFIER, ONE_HOT, SERVED
from run.training import utilization


@dataclasses.dataclass(frozen=True)
class Estimate:
    """The compiler's figures for a step that fits.

    Attributes:
      arguments, outputs, temporaries, program: int. Bytes of weights, optimizer state, and batch; of outputs that do
        not replace an argument; of activations and gradients; of code.
      flops: float. Floating-point operations of all kinds, as counted by the compiler.
      needed_flops: float. Floating-point operations of the matmuls that the model requires.
      cycles: Dict of operation to the compiler's estimate of its cycles, summed over layers.
    """

    arguments: int
    outputs: int
    temporaries: int
    program: int
    flops: float
    needed_flops: float
    cycles: dict

    @property
    def peak_memory(self):
        """Maximum bytes that the step holds at once."""
        return self.arguments + self.outputs + self.temporaries + self.program

    def seconds(self, chip):
        """Returns the compiler's estimate of a step's time: the cycles of all operations in sequence."""
        return sum(self.cycles.values()) / chip.clock


def estimate(executable, needed_flops, micro_batches=1):
    """Creates the Estimate of an executable from compiler.compile_for_tpu.

    The compiler counts the FLOPs of a loop's body once, so its count is multiplied by the number of micro-batches.
    This includes the optimizer update, which is outside the loop, but less than a hundredth of a micro-batch.
    """
    memory = executable.get_compiled_memory_stats()
    flops = executable.cost_analysis()["flops"] * micro_batches
    return Estimate(
        memory.argument_size_in_bytes, memory.output_size_in_bytes - memory.alias_size_in_bytes,
        memory.temp_size_in_bytes, memory.generated_code_size_in_bytes, flops, needed_flops,
        dict(estimated_cycles(executable.hlo_modules()[0].to_string()).most_common()))


def needed_flops(settings, config, lookup):
    """Counts the FLOPs of the matmuls in a step of TpuCompileSettings and a BertConfig."""
    sizes = settings.batch_size, settings.max_seq_length
    forward = utilization.encoder_flops(config, *sizes)
    if settings.workload == SERVED:
        return forward
    if settings.workload == CLASSIFIER:
        return utilization.FORWARD_AND_BACKWARD * forward
    return training_flops(config, *sizes, settings.max_predictions_per_seq, lookup == ONE_HOT)


def training_flops(config, batch_size, sequence_length, predictions, use_one_hot_embeddings):
    """Counts the FLOPs of the matmuls in a pre-training step, including one-hot lookups."""
    flops = batch_size * utilization.pretraining_flops(config, sequence_length, predictions)
    if use_one_hot_embeddings:  # The matrix's gradient is another matmul; the one-hot vectors have no gradient.
        flops += 2 * 2 * batch_size * sequence_length * config.vocab_size * config.hidden_size
    return flops


def estimated_cycles(compiled):
    """Returns the compiler's estimates by operation: Counter of name to cycles, summed over layers.

    Args:
      compiled: str. Text of an HLO module compiled by libtpu. Instructions without an operation of the model have their
        own names. Instructions in a loop count once per iteration.
    """
    rounds = rounds_of(compiled)
    cycles = collections.Counter()
    computation = None
    for line in compiled.splitlines():
        opened = re.match(r"(?:ENTRY )?%([\w.-]+) \(.*\{$", line)
        computation = opened[1] if opened else computation
        estimate = re.search(r'"estimated_cycles":"(\d+)"', line)
        if estimate:
            name = re.search(r'op_name="([^";]*)', line)
            name = name[1] if name else re.search(r"%([a-z-]+)", line)[1]
            cycles[re.sub(r"_\d+(?=/|$)", "", name)] += int(estimate[1]) * rounds.get(computation, 1)
    return cycles


def rounds_of(compiled):
    """Returns the iterations of each computation in an HLO module's text that a loop calls: dict of name to int.

    A computation that is not in the dict runs once per call outside of loops.
    """
    bounds = rounds_by_condition(compiled)
    callers = {}  # Name -> (computation that calls it, number of times).
    computation = None
    for line in compiled.splitlines():
        opened = re.match(r"(?:ENTRY )?%([\w.-]+) \(.*\{$", line)
        if opened:
            computation = opened[1]
            continue
        called = dict(re.findall(r"(body|condition|calls|to_apply)=%([\w.-]+)", line))
        trips = re.search(r'"known_trip_count":\{"n":"(\d+)"', line)
        rounds = int(trips[1]) if trips else bounds.get(called.get("condition"), 1)
        for attribute, name in called.items():
            callers[name] = computation, rounds if attribute == "body" else 1
    found = {}
    for name in callers:
        rounds, caller = 1, name
        while caller in callers:
            caller, times = callers[caller]
            rounds *= times
        if rounds > 1:
            found[name] = rounds
    return found


def rounds_by_condition(compiled):
    """Returns the limit of the loop counter, 0-based, for each loop condition: dict of the condition's name to int."""
    conditions = re.findall(r"^%([\w.-]+) \([^\n]*-> pred\[\] \{\n(.*?)^\}", compiled, re.MULTILINE | re.DOTALL)
    found = {}
    for name, body in conditions:
        bound = re.search(r"compare\(%[\w.-]+, %([\w.-]+)\), direction=LT", body)
        constant = bound and re.search(rf"%{re.escape(bound[1])} = s32\[\]\S* constant\((\d+)\)", body)
        if constant:
            found[name] = int(constant[1])
    return found
