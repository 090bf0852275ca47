"""The text of an HLO module: its computations and instructions, and how often loops run them."""

import dataclasses
import math
import re

CALLS = ("while", "call", "conditional", "async-start")  # They only run other computations.


@dataclasses.dataclass(frozen=True)
class Instruction:
    """An instruction of a compiled module.

    Attributes:
      name, opcode: str.
      result: str. Type of the result, such as "bf16[8,128]{1,0}", or a tuple of types.
      operands: List of names.
      line: str. The complete text.
    """

    name: str
    opcode: str
    result: str
    operands: list
    line: str

    @property
    def called(self):
        """Names of the computations that this instruction runs or fuses."""
        branches = re.findall(r"branch_computations=\{([^}]*)\}", self.line)
        return (re.findall(r"(?:body|condition|calls|to_apply|true_computation|false_computation)=%([\w.-]+)",
                           self.line) + re.findall(r"%([\w.-]+)", " ".join(branches)))

    @property
    def operation(self):
        """Name of the model's operation, without numbers of layers; without one, the instruction's name."""
        name = re.search(r'op_name="([^";]*)', self.line)
        name = name[1] if name else re.search(r"[a-z_-]+", self.name)[0]
        return re.sub(r"_\d+(?=/|$)", "", name)


def parse(compiled):
    """Parses a module's text; returns a dict of computation to its list of Instruction, and the name of the entry."""
    computations, entry, current = {}, None, []
    for line in compiled.splitlines():
        opened = re.match(r"(ENTRY )?%([\w.-]+) \(.*\{$", line)
        if opened:
            current = computations[opened[2]] = []
            entry = opened[2] if opened[1] else entry
            continue
        found = re.match(r"\s+(?:ROOT )?%([\w.-]+) = (\(.*?\)|\S+) ([\w-]+)\((.*?)\)", line)
        if found:
            current.append(Instruction(found[1], found[3], found[2], re.findall(r"%([\w.-]+)", found[4]), line))
    return computations, entry


def size(shapes):
    """Returns the bytes of a type, summed over the elements of a tuple."""
    total = 0
    for dtype, dimensions in re.findall(r"\b([a-z]+\d*[a-z\d]*)\[([\d,]*)\]", shapes):
        bits = 8 if dtype == "pred" else int((re.search(r"\d+", dtype) or "0")[0])
        total += bits * elements(dimensions) // 8
    return total


def elements(dimensions):
    """Returns the number of elements of a shape's text, such as "8,128"."""
    return math.prod(int(number) for number in dimensions.split(",") if number)


def rounds_of(computations):
    """Returns the iterations of each computation that a loop calls: dict of name to int.

    A computation that is not in the dict runs once per call outside of loops.
    """
    callers = {}  # Name -> (computation that calls it, number of times).
    for caller, instructions in computations.items():
        for instruction in instructions:
            body = re.search(r"body=%([\w.-]+)", instruction.line)
            for name in instruction.called:
                is_body = body is not None and name == body[1]
                callers[name] = caller, loop_rounds(instruction, computations) if is_body else 1
    found = {}
    for name in callers:
        rounds, caller = 1, name
        while caller in callers:
            caller, times = callers[caller]
            rounds *= times
        if rounds > 1:
            found[name] = rounds
    return found


def loop_rounds(loop, computations):
    """Returns the iterations of a loop, from its annotation or the limit of its 0-based counter; 1 if unknown."""
    trips = re.search(r'"known_trip_count":\{"n":"(\d+)"', loop.line)
    if trips:
        return int(trips[1])
    condition = re.search(r"condition=%([\w.-]+)", loop.line)[1]
    limits = {each.name: int(found[1]) for each in computations[condition]
              if (found := re.search(r" constant\((\d+)\)", each.line))}
    for each in computations[condition]:
        if each.opcode == "compare" and "direction=LT" in each.line and each.operands[1] in limits:
            return limits[each.operands[1]]
    return 1
