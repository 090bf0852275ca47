"""The plan of an output and its unfinished shards, shared by both runners."""

import abc
import contextlib
import dataclasses
import functools
import itertools
import os
import time
from typing import ClassVar

from bert_tf import files
from bert_tf.files import lock_output
from data_prep.sharding import manifest as manifest_lib
from data_prep.sharding.shards import OutputKind, ShardCounts


@dataclasses.dataclass(frozen=True)
class ShardPlan(abc.ABC):
    """The shards of an output, and how to create each of them from its part of the text. A base class.

    Attributes:
      input_files: Paths of the text files.
      output_files: Paths of the outputs. With several shards, each path is a pattern for one file per shard.
      units: List of text_units.Unit, one per shard.
      kind: OutputKind.
      reading: str. Description of `create_task`, for a progress bar.
    """

    input_files: list
    output_files: list
    units: list

    kind: ClassVar[OutputKind]
    reading: ClassVar[str] = "reading"

    @property
    def num_bytes(self):
        return sum(unit.num_bytes for unit in self.units)

    @property
    def num_passes(self):
        """Number of passes over the text, which determines the number of processes that are worth their start."""
        return 1

    @functools.cached_property
    def shard_files(self):
        """Tuple of paths for each shard."""
        return [tuple(shard_file(path, i, len(self.units)) for path in self.output_files)
                for i in range(len(self.units))]

    @property
    def manifest_path(self):
        return self.output_files[0] + manifest_lib.SUFFIX

    @abc.abstractmethod
    def describe(self):
        """Returns everything that the output depends on, as manifest.describe does."""

    @abc.abstractmethod
    def create_task(self, index, reader, on_progress=None, num_threads=1):
        """Reads the text of a shard.

        Args:
          index: int. 0-based number of the shard.
          reader: text_units.TextReader.
          on_progress: Callable of the number of bytes read since the last call.
          num_threads: int. Maximum number of threads.

        Returns:
          Picklable argument of `create_shard`.

        Raises:
          InputError: If the text is not suitable.
        """

    @property
    @abc.abstractmethod
    def create_shard(self):
        """Picklable callable of a task, and optionally of a progress bar (see shards.no_progress). Returns a Shard."""

    @abc.abstractmethod
    def format_counts(self, counts):
        """Describes the counts of the complete output for the user, as a list of lines; counts: `kind.counts`."""

    def compile_ahead(self, task):
        """Compiles the functions of `create_shard` for tasks like this one, so that processes can load them."""
        del task  # By default, there are none.

    def to_portable(self):
        """Returns a plan that can be sent to another machine, which calls its `load`."""
        return self

    def load(self):
        """Returns the plan with the parts that each worker process creates once."""
        return self


def shard_file(path, index, num_shards):
    """Returns a shard's path: out.tfrecord -> out-00000-of-00012.tfrecord; `path` if there is only one shard."""
    if num_shards == 1:
        return path
    stem, extension = os.path.splitext(path)
    return f"{stem}-{index:05}-of-{num_shards:05}{extension}"


def complete(plan, create_shards, start, *, num_output_shards, verify, announce):
    """Creates the shards of an output that an identical earlier run did not finish, and the output directories.

    Args:
      plan: ShardPlan.
      create_shards: Callable of the plan and its Manifest: local_runner.create_shards or beam_runner.create_shards.
      start: float. Time of the start of the run, from time.perf_counter.
      num_output_shards: int. Requested number of shards.
      verify: bool. Whether to compare all bytes of finished shards with the manifest, not only sizes and a sample.
      announce: Callable of each message for the user.

    Returns:
      Summary.

    Raises:
      InputError: If an existing output was created from other inputs or with other settings.
      OSError: If a file cannot be read or written.
    """
    manifest = manifest_lib.Manifest(plan.manifest_path, plan.kind, plan.describe(), plan.shard_files, verify)
    _announce(plan, manifest, num_output_shards, announce)
    for path in plan.output_files:
        try:
            files.at(os.path.dirname(path) or ".").make_dirs()
        except OSError as error:
            raise OSError(f"`{plan.kind.argument}`={path}: cannot create its directory: "
                          f"{error.strerror or error}") from error
    missing = manifest.missing
    if missing or manifest.has_notes:
        with _lock_shards(plan, missing):
            manifest.collect_notes()
            if missing:
                manifest = create_shards(plan, manifest)
    return Summary(plan.format_counts(manifest.counts), manifest.counts, len(plan.units), len(missing),
                   sum(plan.units[i].num_bytes for i in missing), time.perf_counter() - start)


@contextlib.contextmanager
def _lock_shards(plan, missing):
    """A context in which no other process of this machine writes the missing shards of a ShardPlan.

    After an error or Ctrl-C, it removes the unfinished files.
    """
    with lock_output(plan.kind.argument, plan.manifest_path):
        try:
            yield
        except BaseException:
            for path in itertools.chain.from_iterable(plan.shard_files[i] for i in missing):
                with contextlib.suppress(OSError):  # the first error is the one to report
                    files.at(path).discard()
            raise


@dataclasses.dataclass(frozen=True)
class Summary:
    """Results of a run. `str()` returns them as lines for the user.

    Attributes:
      lines: List of str. Description of `counts`.
      counts: ShardCounts of the complete output, including the results of earlier runs.
      num_shards: int. Number of shards of the complete output.
      num_made: int. Number of shards that this run created.
      num_bytes_made: int. Bytes of text that this run read for them.
      seconds: float. Duration of this run, from the first byte read to the last file renamed.
    """

    lines: list
    counts: ShardCounts
    num_shards: int
    num_made: int
    num_bytes_made: int
    seconds: float

    def __str__(self):
        lines = list(self.lines)
        if self.num_made:
            suffix = f" for {self.num_made} of {self.num_shards} shards" if self.num_made < self.num_shards else ""
            lines.insert(2, f"took     {self.seconds:.1f} s{suffix} after startup, "
                            f"{self.num_bytes_made / 1e6 / self.seconds:.2f} MB of text per second")
        return "\n".join(lines)


def _announce(plan, manifest, num_output_shards, announce):
    """Reports, before any work, the differences from a plain run."""
    num_shards, num_missing = len(plan.units), len(manifest.missing)
    if num_shards > num_output_shards:
        announce(f"`max_shard_mb`: splitting {plan.num_bytes / 1e6:,.1f} MB of text into {num_shards} shards, "
                 f"beginning with {plan.shard_files[0][0]}")
    if manifest.num_damaged:
        announce(f"regenerating {manifest.num_damaged} of {num_shards} shards, which were finished, but whose files "
                 "are missing or have another size")
    if manifest.num_changed:
        announce(f"regenerating {manifest.num_changed} of {num_shards} shards, which were finished, but whose files "
                 "were changed")
    if not num_missing:
        announce(f"{plan.output_files[0]}: is complete; to regenerate it, delete {manifest.path}")
    elif num_missing < num_shards:
        announce(f"{plan.output_files[0]}: resuming; {num_shards - num_missing} of {num_shards} shards are finished, "
                 f"{num_missing} are missing")
