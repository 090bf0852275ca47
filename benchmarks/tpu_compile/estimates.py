"""What a compiled step costs: its memory, the FLOPs it needs, and the compiler's estimate of cycles."""

import collections
import dataclasses
import re

from benchmarks.tpu_compile.settings import CLASSIFIER, ONE_HOT, SERVED
from run.training import utilisation


@dataclasses.dataclass(frozen=True)
class Estimate:
    """The compiler's figures of a step that fits.

    Attributes:
      arguments, outputs, temporaries, program: bytes of weights, moments and batch; of outputs that do not take the
        place of an argument; of activations and gradients; of code.
      flops: floating-point operations of all kinds, as the compiler counts them.
      needed_flops: those of the matrix products that the model's mathematics asks for.
      cycles: dict of operation -> the compiler's estimate of its cycles, layers summed.
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
        """Bytes that the step holds at once, at most."""
        return self.arguments + self.outputs + self.temporaries + self.program

    def seconds(self, chip):
        """The compiler's estimate of a step's time: the cycles of all operations one after the other."""
        return sum(self.cycles.values()) / chip.clock


def estimate(executable, needed_flops, micro_batches=1):
    """The Estimate of an executable that compiler.compile_for_tpu returned.

    The compiler counts the FLOPs of a loop's body once. With micro-batches, which go round a loop, its count is taken
    as often; the optimizer's update, which is outside of it, is less than a hundredth of what a micro-batch takes.
    """
    memory = executable.get_compiled_memory_stats()
    flops = executable.cost_analysis()["flops"] * micro_batches
    return Estimate(
        memory.argument_size_in_bytes, memory.output_size_in_bytes - memory.alias_size_in_bytes,
        memory.temp_size_in_bytes, memory.generated_code_size_in_bytes, flops, needed_flops,
        dict(estimated_cycles(executable.hlo_modules()[0].to_string()).most_common()))


def needed_flops(settings, config, lookup):
    """Multiplications and additions of the matrix products of a step of TpuCompileSettings and a BertConfig."""
    sizes = settings.batch_size, settings.max_seq_length
    forward = utilisation.encoder_flops(config, *sizes)
    if settings.workload == SERVED:
        return forward
    if settings.workload == CLASSIFIER:
        return utilisation.FORWARD_AND_BACKWARD * forward
    return training_flops(config, *sizes, settings.max_predictions_per_seq, lookup == ONE_HOT)


def training_flops(config, batch_size, sequence_length, predictions, use_one_hot_embeddings):
    """Those of a pre-training step, the products of one-hot look-ups included."""
    flops = batch_size * utilisation.pretraining_flops(config, sequence_length, predictions)
    if use_one_hot_embeddings:  # the table's gradient is one more product; the one-hot vectors have none
        flops += 2 * 2 * batch_size * sequence_length * config.vocab_size * config.hidden_size
    return flops


def estimated_cycles(compiled):
    """The compiler's estimates by operation: Counter of name -> cycles; the layers' are summed.

    Args:
      compiled: text of an HLO module as libtpu compiled it. An instruction that no operation of the model asked for
        goes by its own name. One in a loop counts as often as the loop goes round.
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
    """How often each computation of an HLO module's text runs where a loop calls it: dict of name -> int.

    A computation that is not in it runs once each time that it is called from outside of loops.
    """
    bounds = rounds_by_condition(compiled)
    callers = {}  # name -> (computation that calls it, times it does)
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
    """What a loop's condition lets a count from 0 rise to: dict of the condition's name -> int."""
    conditions = re.findall(r"^%([\w.-]+) \([^\n]*-> pred\[\] \{\n(.*?)^\}", compiled, re.MULTILINE | re.DOTALL)
    found = {}
    for name, body in conditions:
        bound = re.search(r"compare\(%[\w.-]+, %([\w.-]+)\), direction=LT", body)
        constant = bound and re.search(rf"%{re.escape(bound[1])} = s32\[\]\S* constant\((\d+)\)", body)
        if constant:
            found[name] = int(constant[1])
    return found
