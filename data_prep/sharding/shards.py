"""Finished shards, and the counts of their text."""

import contextlib
import dataclasses


@dataclasses.dataclass(frozen=True)
class ShardCounts:
    """Base class for the counts of a shard. Counts of shards can be added.

    Attributes:
      num_bytes: int. Bytes of text read, after decompression.
    """

    num_bytes: int = 0

    def __add__(self, other):
        return type(self)(*(first + second for first, second
                            in zip(dataclasses.astuple(self), dataclasses.astuple(other), strict=True)))

    @classmethod
    def from_json(cls, values):
        """Creates counts from a dict of a manifest, which an earlier version can have written."""
        return cls(**values)


@dataclasses.dataclass(frozen=True)
class Shard:
    """A finished shard: its number, a dict of "file", "bytes", "sha256" per file, and its ShardCounts."""

    index: int
    files: list
    counts: ShardCounts


@dataclasses.dataclass(frozen=True)
class OutputKind:
    """Properties of all outputs of a script.

    Attributes:
      argument: str. Name of the setting with the path of an output, for messages.
      counts: Subclass of ShardCounts.
      later_defaults: Dict of flag -> value in outputs of earlier versions, whose manifests lack the flag.
    """

    argument: str
    counts: type
    later_defaults: dict = dataclasses.field(default_factory=dict)


@contextlib.contextmanager
def no_progress(*_):
    """Replaces a progress bar that is not shown."""
    yield lambda amount: None
