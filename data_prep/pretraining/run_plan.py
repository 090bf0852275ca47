"""What a run makes of what, and what of it is finished: the part of the work that both runners share."""

import contextlib
import dataclasses
import functools
import itertools
import os

import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.files import discard, make_dirs, only_writer
from data_prep.pretraining import corpus as corpus_lib
from data_prep.pretraining import manifest as manifest_lib
from data_prep.pretraining import shard_plan, shards
from data_prep.pretraining.instances import InstanceSettings, masking


def begin(input_files, output_files, tokenizer, settings, seed, *, num_output_shards, max_shard_bytes, verify,
          announce):
    """Decides what is to be made of what, and finds out what is made already; makes the outputs' folders.

    Arguments and errors are those of local_runner.create_pretraining_data.

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
            raise OSError(f"`output_file`={path}: its folder cannot be made: {error.strerror or error}") from error
    return plan, manifest


@dataclasses.dataclass(frozen=True)
class Plan:
    """What is made of what: the arguments of create_pretraining_data, with the text cut into units."""

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
        """A tuple of paths for each shard."""
        return [tuple(shard_file(path, i, len(self.units)) for path in self.output_files)
                for i in range(len(self.units))]

    @functools.cached_property
    def vocabulary(self):
        return masking.Vocabulary.of_tokenizer(self.tokenizer)

    def describe(self):
        """Everything that the records depend on, for the manifest."""
        casing = {"do_lower_case": self.tokenizer.lower_case}
        if self.tokenizer.strip_accents != self.tokenizer.lower_case:  # as no manifest of earlier versions has it
            casing["strip_accents"] = self.tokenizer.strip_accents
        return manifest_lib.describe(self.input_files, self.tokenizer.vocab_file, {
            **self.settings.described(),
            **casing,
            "random_seed": self.seed,
            "output_file": ",".join(map(os.path.basename, self.output_files)),
            "num_output_shards": len(self.units)})

    def task(self, index, reader, on_progress=None, num_threads=1):
        """Reads a unit and tokenizes it, in threads: its ShardTask. InputError for too few documents."""
        corpus = corpus_lib.tokenize(reader.read(self.units[index], on_progress), self.tokenizer, num_threads)
        self._check_documents(corpus, index)
        seed = self.seed if len(self.units) == 1 else f"{self.seed}, shard {index}"
        return shards.ShardTask(index, corpus, self.shard_files[index], self.settings, self.vocabulary,
                                self.tokenizer.unk_id, seed)

    def _check_documents(self, corpus, index):
        if corpus.num_documents >= self.settings.what.fewest_documents:
            return
        needed = "at least two documents, each ended by a blank line, are needed for random next sentences"
        if len(self.units) > 1:
            start = self.units[index].ranges[0]
            documents = ("no document", "one document")[corpus.num_documents]
            why = f"{needed}; " if self.settings.what.fewest_documents > 1 else ""
            raise InputError(f"shard {index + 1} of {len(self.units)}, from byte {start.start:,} of {start.path}, "
                             f"would be of {documents}: {why}{shard_plan.FEWER_SHARDS}")
        if not corpus.num_documents:
            raise shard_plan.no_sentence(self.input_files)
        raise InputError(f"the text is one document, in {shard_plan.named(self.input_files)}: {needed}")


def shard_file(path, index, num_shards):
    """The name of one of several shards: out.tfrecord -> out-00000-of-00012.tfrecord; of the only one, `path`."""
    if num_shards == 1:
        return path
    stem, extension = os.path.splitext(path)
    return f"{stem}-{index:05}-of-{num_shards:05}{extension}"


@contextlib.contextmanager
def only_writer_of(plan, manifest):
    """A context in which no other process of this machine writes the shards of a Plan that its Manifest lacks.

    After an error or Ctrl-C, it removes the unfinished files.
    """
    missing = manifest.missing
    with only_writer("output_file", manifest.path):
        try:
            yield
        except BaseException:
            for path in itertools.chain.from_iterable(plan.shard_files[i] for i in missing):
                with contextlib.suppress(OSError):  # the first error is the one to report
                    discard(path)
            raise


@dataclasses.dataclass(frozen=True)
class Summary:
    """What a run made; `str()` gives it as lines for people.

    Attributes:
      settings: InstanceSettings of the output.
      counts: shards.Counts of the whole output, what earlier runs made included.
      num_shards: of the whole output.
      num_made: shards that this run made.
      num_bytes_made: bytes of text that this run read for them.
      seconds: this run took, from the first byte read to the last file named.
    """

    settings: InstanceSettings
    counts: shards.Counts
    num_shards: int
    num_made: int
    num_bytes_made: int
    seconds: float

    def __str__(self):
        lines = self.counts.lines(self.settings)
        if self.num_made:
            made = f" for {self.num_made} of {self.num_shards} shards" if self.num_made < self.num_shards else ""
            lines.insert(2, f"took     {self.seconds:.1f} s{made}, "
                            f"{self.num_bytes_made / 1e6 / self.seconds:.2f} MB of text a second")
        return "\n".join(lines)


def _announce(plan, manifest, num_output_shards, announce):
    """Says, before any work, what differs from a plain run."""
    num_shards, num_missing = len(plan.units), len(manifest.missing)
    if num_shards > num_output_shards:
        announce(f"`max_shard_mb`: the {plan.num_bytes / 1e6:,.1f} MB of text are made into {num_shards} shards, from "
                 f"{plan.shard_files[0][0]} on")
    if manifest.num_damaged:
        announce(f"{manifest.num_damaged} of {num_shards} shards were finished, but their files are gone or have "
                 f"another size: they are made again")
    if manifest.num_changed:
        announce(f"{manifest.num_changed} of {num_shards} shards were finished, but their files have been changed: "
                 f"they are made again")
    if not num_missing:
        announce(f"{plan.output_files[0]}: is finished already; to make it again, remove {manifest.path}")
    elif num_missing < num_shards:
        announce(f"{num_shards - num_missing} of {num_shards} shards are finished already, {num_missing} are missing")
