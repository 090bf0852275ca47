"""The TPU chips that a step can be compiled for."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Chip:
    """A TPU chip as Google Cloud documents it: memory in bytes, bfloat16 FLOP/s, clock in Hz.

    The clock follows from the peak: 4 matrix units of 128 x 128 multiply-adds in a v5e, 2 of 256 x 256 in a v6e.
    """

    memory: float
    peak: float
    clock: float


CHIPS = {"v5e": Chip(16 * 2**30, 197e12, 1.5e9), "v6e": Chip(32 * 2**30, 918e12, 1.75e9)}
