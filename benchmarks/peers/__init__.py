"""Code that runs in its own process, mostly with libraries such as PyTorch.

See benchmarks.peer_process.
"""

from typing import NamedTuple


class LabeledTexts(NamedTuple):
    """Rows of a data set for fine-tuning."""

    text_a: list[str]
    text_b: list[str] | None  # None for single texts.
    labels: list[int]
