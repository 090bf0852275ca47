"""The roofline time of a module compiled for a GPU, kernel by kernel.

A kernel takes the larger of two times: its bytes, read and written, at the memory's bandwidth, and the FLOPs of its
matmuls at the peak of their dtype. Caches, launches, and other arithmetic, such as random bits, are not counted.
"""

import dataclasses
import re

from benchmarks.accelerator_compile import hlo

FREE = ("parameter", "constant", "get-tuple-element", "tuple", "bitcast", "after-all", "partition-id", "replica-id",
        "async-update", "async-done", "copy-done")  # Instructions that compute nothing.
CUBLAS = 'custom_call_target="__cublas$'  # A matmul by the library.
SLICES = ("slice", "dynamic-slice", "gather")  # They read as much as they return.


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A kernel of a compiled step.

    Attributes:
      operation: str. Operation of the model.
      runs: int. Times per step: the iterations of the loops around it.
      read, written: int. Bytes per run.
      flops: Dict of dtype to the FLOPs of matmuls per run.
    """

    operation: str
    runs: int
    read: int
    written: int
    flops: dict

    def seconds(self, chip):
        """Returns the time of all runs on a Chip."""
        peaks = {"f32": chip.float32_peak}
        computing = sum(count / peaks.get(dtype, chip.peak) for dtype, count in self.flops.items())
        return self.runs * max((self.read + self.written) / chip.bandwidth, computing)


def find_kernels(compiled):
    """Returns the Kernels of the entry of an HLO module's text, and of the loops and calls in it."""
    computations, entry = hlo.parse(compiled)
    rounds = hlo.rounds_of(computations)
    kernels, waiting, visited = [], [entry], set()
    while waiting:
        name = waiting.pop()
        if name in visited:
            continue
        visited.add(name)
        types = {instruction.name: instruction.result for instruction in computations[name]}
        for instruction in computations[name]:
            if instruction.opcode in hlo.CALLS:
                waiting += instruction.called
            elif instruction.opcode not in FREE:
                kernels.append(Kernel(instruction.operation, rounds.get(name, 1),
                                      read_bytes(instruction, types, computations), written_bytes(instruction),
                                      matmul_flops(instruction, types, computations)))
    return kernels


def read_bytes(instruction, types, computations):
    """Returns the bytes that an instruction reads; if its fusion only slices an operand, the bytes of the slices."""
    sizes = {}
    fused = computations[instruction.called[0]] if instruction.opcode == "fusion" else []
    parameters = {int(re.search(r" parameter\((\d+)\)", each.line)[1]): each.name for each in fused
                  if each.opcode == "parameter"}
    for number, operand in enumerate(instruction.operands):
        users = [each for each in fused if parameters.get(number) in each.operands]
        if instruction.opcode in SLICES and number == 0:
            sizes[operand] = hlo.size(instruction.result)
        elif users and all(each.opcode in SLICES and each.operands[0] == parameters[number] for each in users):
            sizes[operand] = sum(hlo.size(each.result) for each in users)
        else:
            sizes[operand] = hlo.size(types.get(operand, ""))
    return sum(sizes.values())


def written_bytes(instruction):
    """Returns the bytes of an instruction's results, without the workspace that cuBLAS returns as its last one."""
    workspace = hlo.size(re.findall(r"\w+\[[\d,]*\]", instruction.result)[-1]) if CUBLAS in instruction.line else 0
    return hlo.size(instruction.result) - workspace


def matmul_flops(instruction, types, computations):
    """Returns the FLOPs of an instruction's matmuls, fused ones included: dict of the operands' dtype to int."""
    flops = {}
    if instruction.opcode == "dot" or CUBLAS in instruction.line:
        dtype, left = re.match(r"(\w+)\[([\d,]*)\]", types[instruction.operands[0]]).groups()
        contracted = re.search(r'lhs_contracting_dim(?:s=\{|ensions":\[)([^]}]*)', instruction.line)[1]
        depth = hlo.elements(",".join(left.split(",")[int(axis)] for axis in re.findall(r"\d+", contracted)))
        flops[dtype] = 2 * hlo.elements(re.search(r"\w+\[([\d,]*)\]", instruction.result)[1]) * depth
    elif instruction.opcode == "fusion":
        fused = computations[instruction.called[0]]
        inner_types = {each.name: each.result for each in fused}
        for each in fused:
            for dtype, count in matmul_flops(each, inner_types, computations).items():
                flops[dtype] = flops.get(dtype, 0) + count
    return flops
