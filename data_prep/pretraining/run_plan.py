"""The plan of a run and its unfinished shards, shared by both runners."""

import contextlib
import dataclasses
import functools
import itertools
import os

import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.files import discard, lock_output, make_dirs
from data_prep.pretraining import corpus as corpus_lib
from data_prep.pretraining import manifest as manifest_lib
from data_prep.pretraining import shard_plan, shards
from data_prep.pretraining.instances import InstanceSettings, masking


def begin(input_files, output_files, tokenizer, settings, seed, *, num_output_shards, max_shard_bytes, verify,
          announce):
    """Plans the shards of a run, finds the finished ones, and creates the output directories.

    For arguments and errors, see local_runner.create_pretraining_data.

    Returns:
      Plan and Manifest.
    """
    units = shard_plan.plan_units(input_files, num_output_shards, max_shard_bytes)
    plan = Plan(input_files, output_files, units, tokenizer, settings, seed)
    manifest = manifest_lib.Manifest(output_files[0] + manifest_lib.SUFFIX, plan.describe(), plan.shard_files, verify)
    _announce(plan, manifest, num_output_shards, announce)
    for path in output_files:
        try:
            make_dirs(os.path.dirname(path) or ".")
        except OSError as error:
            raise OSError(f"`output_file`={path}: cannot create its directory: {error.strerror or error}") from error
    return plan, manifest


@dataclasses.dataclass(frozen=True)
class Plan:
    """The plan of a run: the arguments of create_pretraining_data, with the text divided into units."""

    input_files: list
    output_files: list
    units: list
    tokenizer: tf.Module
    settings: InstanceSettings
    seed: int

    @property
    def num_bytes(self):
        return sum(unit.num_bytes for unit in self.units)

    @functools.cached_property
    def shard_files(self):
        """Tuple of paths for each shard."""
        return [tuple(shard_file(path, i, len(self.units)) for path in self.output_files)
                for i in range(len(self.units))]

    @functools.cached_property
    def vocabulary(self):
        return masking.Vocabulary.from_tokenizer(self.tokenizer)

    def describe(self):
        """Returns everything that the records depend on, for the manifest."""
        casing = {"do_lower_case": self.tokenizer.lower_case}
        if self.tokenizer.strip_accents != self.tokenizer.lower_case:  # Otherwise omitted, as in old manifests.
            casing["strip_accents"] = self.tokenizer.strip_accents
        return manifest_lib.describe(self.input_files, self.tokenizer.vocab_file, {
            **self.settings.describe(),
            **casing,
            "random_seed": self.seed,
            "output_file": ",".join(map(os.path.basename, self.output_files)),
            "num_output_shards": len(self.units)})

    def create_task(self, index, reader, on_progress=None, num_threads=1):
        """Reads and tokenizes a unit, in threads. Returns its ShardTask; raises InputError for too few documents."""
        corpus = corpus_lib.tokenize(reader.read(self.units[index], on_progress), self.tokenizer, num_threads)
        self._check_documents(corpus, index)
        seed = self.seed if len(self.units) == 1 else f"{self.seed}, shard {index}"
        return shards.ShardTask(index, corpus, self.shard_files[index], self.settings, self.vocabulary,
                                self.tokenizer.unk_id, seed)

    def _check_documents(self, corpus, index):
        if corpus.num_documents >= self.settings.objective_spec.fewest_documents:
            return
        requirement = "random next sentences require at least two documents, separated by blank lines"
        if len(self.units) > 1:
            start = self.units[index].ranges[0]
            documents = ("no document", "one document")[corpus.num_documents]
            reason = f"{requirement}; " if self.settings.objective_spec.fewest_documents > 1 else ""
            raise InputError(f"shard {index + 1} of {len(self.units)}, from byte {start.start:,} of {start.path}, "
                             f"would contain {documents}; {reason}{shard_plan.FEWER_SHARDS}")
        if not corpus.num_documents:
            raise shard_plan.create_empty_error(self.input_files)
        raise InputError(f"only one document in {shard_plan.describe_paths(self.input_files)}; {requirement}")


def shard_file(path, index, num_shards):
    """Returns a shard's path: out.tfrecord -> out-00000-of-00012.tfrecord; `path` if there is only one shard."""
    if num_shards == 1:
        return path
    stem, extension = os.path.splitext(path)
    return f"{stem}-{index:05}-of-{num_shards:05}{extension}"


@contextlib.contextmanager
def lock_shards(plan, manifest):
    """A context in which no other process of this machine writes the shards of a Plan that its Manifest lacks.

    After an error or Ctrl-C, it removes the unfinished files.
    """
    missing = manifest.missing
    with lock_output("output_file", manifest.path):
        try:
            yield
        except BaseException:
            for path in itertools.chain.from_iterable(plan.shard_files[i] for i in missing):
                with contextlib.suppress(OSError):  # the first error is the one to report
                    discard(path)
            raise


@dataclasses.dataclass(frozen=True)
class Summary:
    """Results of a run. `str()` returns them as lines for the user.

    Attributes:
      settings: InstanceSettings of the output.
      counts: shards.Counts of the complete output, including the results of earlier runs.
      num_shards: int. Number of shards of the complete output.
      num_made: int. Number of shards that this run created.
      num_bytes_made: int. Bytes of text that this run read for them.
      seconds: float. Duration of this run, from the first byte read to the last file renamed.
    """

    settings: InstanceSettings
    counts: shards.Counts
    num_shards: int
    num_made: int
    num_bytes_made: int
    seconds: float

    def __str__(self):
        lines = self.counts.to_lines(self.settings)
        if self.num_made:
            suffix = f" for {self.num_made} of {self.num_shards} shards" if self.num_made < self.num_shards else ""
            lines.insert(2, f"took     {self.seconds:.1f} s{suffix}, "
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
