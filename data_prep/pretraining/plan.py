"""The creation of pre-training records from text files, and its plan."""

import dataclasses
import functools
import os
import time

from bert_tf.errors import InputError
from bert_tf.tokenization import BertTokenizer
from data_prep.pretraining import corpus as corpus_lib
from data_prep.pretraining import shards
from data_prep.pretraining.instances import InstanceSettings, masking
from data_prep.pretraining.instances.settings import LATER_DEFAULTS
from data_prep.sharding import local_runner, manifest, shard_plan, text_units
from data_prep.sharding.shards import OutputKind


def create_pretraining_data(input_files, output_files, tokenizer, settings, seed, *, num_output_shards=1,
                            max_shard_bytes=0, verify=False, create_shards=local_runner.create_shards,
                            announce=lambda line: None):
    """Creates the records of text files. Resumes an identical earlier run by creating only the missing shards.

    With one shard, the records equal those of the original BERT with the same settings and seed. A larger text is
    divided between documents into parts. Each part becomes a shard like a complete text, with its own seed. Records
    depend on all arguments except `create_shards`. A manifest is stored next to the first output file.

    Args:
      input_files: Paths of text files, one sentence per line, with a blank line after each document. May be .gz.
      output_files: Paths of the TFRecord files. Records are written to them in turn. With several shards, each path
        is a pattern for one file per shard (shard_plan.shard_file). Directories are created if they do not exist. Each
        file appears when it is complete.
      tokenizer: BertTokenizer.
      settings: InstanceSettings.
      seed: int. Any integer.
      num_output_shards: int. Minimum number of shards.
      max_shard_bytes: int. Maximum bytes of text per shard, which bounds the memory; increases the number of shards if
        required. 0 for no limit.
      verify: bool. Whether to compare all bytes of finished shards with the manifest, not only sizes and a sample.
      create_shards: Callable from runners.choose_runner. Defaults to this machine, with one process per core.
      announce: Callable of each message for the user, before and during the work.

    Returns:
      shard_plan.Summary.

    Raises:
      InputError: If the text is empty, if a shard has too few documents, or if an existing output was created from
        other inputs or with other settings.
      OSError: If a file cannot be read or written.
    """
    start = time.perf_counter()
    units = text_units.plan_units(input_files, num_output_shards, max_shard_bytes)
    plan = Plan(input_files, output_files, units, tokenizer, settings, seed)
    return shard_plan.complete(plan, create_shards, start, num_output_shards=num_output_shards, verify=verify,
                               announce=announce)


@dataclasses.dataclass(frozen=True)
class Plan(shard_plan.ShardPlan):
    """The arguments of create_pretraining_data, with the text divided into units.

    Attributes:
      tokenizer: BertTokenizer; in a portable plan, the tuple of its arguments.
      settings, seed: See create_pretraining_data.
    """

    tokenizer: BertTokenizer | tuple
    settings: InstanceSettings
    seed: int

    kind = OutputKind("output_file", shards.Counts, LATER_DEFAULTS)
    reading = "tokenizing"

    @property
    def num_passes(self):
        """See ShardPlan."""
        return self.settings.num_passes

    @property
    def create_shard(self):
        """See ShardPlan."""
        return shards.create_shard

    @functools.cached_property
    def vocabulary(self):
        return masking.Vocabulary.from_tokenizer(self.tokenizer)

    def describe(self):
        """See ShardPlan."""
        casing = {"do_lower_case": self.tokenizer.lower_case}
        if self.tokenizer.strip_accents != self.tokenizer.lower_case:  # Otherwise omitted, as in old manifests.
            casing["strip_accents"] = self.tokenizer.strip_accents
        return manifest.describe(self.input_files, {
            **self.settings.describe(),
            **casing,
            "random_seed": self.seed,
            "output_file": ",".join(map(os.path.basename, self.output_files)),
            "num_output_shards": len(self.units)}, self.tokenizer.vocab_file)

    def create_task(self, index, reader, on_progress=None, num_threads=1):
        """See ShardPlan. Returns a ShardTask; raises InputError for too few documents."""
        corpus = corpus_lib.tokenize(reader.read(self.units[index], on_progress), self.tokenizer, num_threads)
        self._check_documents(corpus, index)
        seed = self.seed if len(self.units) == 1 else f"{self.seed}, shard {index}"
        return shards.ShardTask(index, corpus, self.shard_files[index], self.settings, self.vocabulary,
                                self.tokenizer.unk_id, seed)

    def format_counts(self, counts):
        """See ShardPlan."""
        return counts.to_lines(self.settings)

    def compile_ahead(self, task):
        """See ShardPlan."""
        shards.compile_ahead(task)

    def to_portable(self):
        """See ShardPlan."""
        arguments = self.tokenizer.vocab_file, self.tokenizer.lower_case, self.tokenizer.strip_accents
        return dataclasses.replace(self, tokenizer=arguments)

    def load(self):
        """See ShardPlan."""
        return dataclasses.replace(self, tokenizer=BertTokenizer(*self.tokenizer))

    def _check_documents(self, corpus, index):
        if corpus.num_documents >= self.settings.objective_spec.fewest_documents:
            return
        requirement = "random next sentences require at least two documents, separated by blank lines"
        if len(self.units) > 1:
            documents = ("no document", "one document")[corpus.num_documents]
            reason = f"{requirement}; " if self.settings.objective_spec.fewest_documents > 1 else ""
            raise InputError(f"{text_units.describe_shard(self.units, index)} would contain {documents}; "
                             f"{reason}{text_units.FEWER_SHARDS}")
        if not corpus.num_documents:
            raise text_units.create_empty_error(self.input_files)
        raise InputError(f"only one document in {text_units.describe_paths(self.input_files)}; {requirement}")
