"""Creation of one shard of pre-training records from a part of the corpus.

Does not import TensorFlow, so a process that creates shards starts immediately and needs little memory.
"""

import contextlib
import dataclasses
import os

import numpy as np

from bert_tf.files import describe_dropped_bytes
from data_prep import records
from data_prep.pretraining import instances as instances_lib
from data_prep.pretraining.corpus import Corpus
from data_prep.pretraining.instances import InstanceSettings, Sampler, masking
from data_prep.sharding.shards import Shard, ShardCounts, no_progress

BATCH = 1024  # Records assembled and serialized together.
MAX_UNKNOWN_FRACTION = 0.05  # Text with a larger fraction of [UNK] probably does not match the vocabulary.


@dataclasses.dataclass(frozen=True)
class ShardTask:
    """The inputs for creating a shard.

    Attributes:
      index: int. 0-based number of the shard.
      corpus: Corpus. Its documents. Random next sentences come only from these.
      output_files: Paths of TFRecord files. Records are written to them in turn.
      settings: InstanceSettings.
      vocabulary: masking.Vocabulary.
      unk_id: int. ID of [UNK].
      seed: int or str. Seed of all random sampling for this shard.
    """

    index: int
    corpus: Corpus
    output_files: tuple
    settings: InstanceSettings
    vocabulary: masking.Vocabulary
    unk_id: int
    seed: int | str


@dataclasses.dataclass(frozen=True)
class Counts(ShardCounts):
    """Counts of the text read and the records written.

    Attributes:
      num_bytes, num_documents, num_sentences, num_tokens, num_unknown: Sizes of the text, each part counted once;
        `num_unknown` tokens are [UNK].
      num_records: Number of records written.
      num_ids, num_real: Number of IDs in all records, and how many of them are not padding.
      num_sequences: Number of sequences in all records.
      num_random_next: Sequences with label 1: the second part comes from another place, or the parts are swapped.
      num_masked: Number of masked positions.
      num_predictions_cut: Number of positions required by masked_lm_prob but exceeding max_predictions_per_seq.
      num_garbled: Number of lines of text with invalid UTF-8 bytes, which were dropped.
    """

    num_documents: int = 0
    num_sentences: int = 0
    num_tokens: int = 0
    num_unknown: int = 0
    num_records: int = 0
    num_ids: int = 0
    num_real: int = 0
    num_random_next: int = 0
    num_masked: int = 0
    num_predictions_cut: int = 0
    num_garbled: int = 0
    num_sequences: int = 0

    @classmethod
    def from_json(cls, values):
        """See ShardCounts. Earlier versions did not count sequences because each record had one."""
        return cls(**{"num_sequences": values.get("num_records", 0), **values})

    def to_lines(self, settings):
        """Describes the counts for the user, as a list of lines; `settings`: InstanceSettings."""
        written = f"{self.num_records:,} records"
        if settings.pack_sequences:
            written += f" with {self.num_sequences:,} sequences, {self.num_sequences / self.num_records:.2f} per record"
        masked = f", {self.num_masked / self.num_real:.1%} of these masked" if self.num_masked else ", unmasked"
        label = ""
        if settings.objective_spec.sentence_label:
            label = f", {self.num_random_next / self.num_sequences:.1%} {settings.objective_spec.label_names[1]}"
        lines = [
            f"read     {self.num_documents:,} documents, {self.num_sentences:,} sentences, "
            f"{self.num_tokens:,} tokens ({self.num_unknown / self.num_tokens:.2%} [UNK])",
            f"wrote    {written}: {self.num_real / self.num_ids:.1%} non-padding tokens{masked}{label}",
        ]
        if self.num_predictions_cut:
            lines.append(f"note: `max_predictions_per_seq` is too small for `masked_lm_prob`: "
                         f"{self.num_predictions_cut:,} predictions were dropped")
        if self.num_garbled:
            lines.append(f"note: {describe_dropped_bytes(self.num_garbled)}")
        if self.num_unknown > MAX_UNKNOWN_FRACTION * self.num_tokens:
            lines.append(f"warning: {self.num_unknown / self.num_tokens:.1%} of the tokens are [UNK]; check that the "
                         "vocabulary and its casing match the text")
        return lines


def create_shard(task, progress=no_progress):
    """Creates a shard's records; for sentence pairs, the original BERT's with the same settings and seed.

    Args:
      task: ShardTask.
      progress: Callable of the description, the total, and the unit of a step. Returns a context manager whose value
        is a callable of each advance.

    Returns:
      Shard. Its files are complete and have their final names.

    Raises:
      InputError: If there are fewer documents than the objective requires.
      OSError: If a file cannot be written. No partial file remains.
    """
    corpus, settings = task.corpus, task.settings
    with contextlib.ExitStack() as stack:
        writers = [stack.enter_context(records.RecordWriter(path, settings.features))
                   for path in task.output_files]
        with progress("creating instances", settings.num_passes * corpus.num_sentences, " sentences") as advance:
            instances = instances_lib.create_instances(
                corpus, settings, task.vocabulary, Sampler(task.seed), advance)
        with progress("writing", instances.num_records, " records") as advance:
            write_instances(corpus, instances, settings, task.vocabulary, writers, advance)
    files = [{"file": os.path.basename(writer.path), "bytes": writer.num_bytes, "sha256": writer.sha256.hexdigest()}
             for writer in writers]
    return Shard(task.index, files, compute_counts(corpus, instances, settings, task.unk_id))


def compile_ahead(task):
    """Compiles the functions that `create_shard` calls, with a text of four words, so that processes can load them."""
    two = np.arange(3)
    corpus = Corpus(np.ones(4, task.corpus.tokens.dtype), 2 * two, two, 0)
    settings = dataclasses.replace(task.settings, dupe_factor=1)
    instances = instances_lib.create_instances(corpus, settings, task.vocabulary, Sampler(1))
    columns = instances_lib.assemble(corpus, instances, np.arange(1), settings, task.vocabulary)
    records.compose_frames(columns, settings.features)


def write_instances(corpus, instances, settings, vocabulary, writers, on_progress):
    """Writes all records in order, each to the next of `writers` (RecordWriter) in turn.

    `on_progress`: Callable of the number of records written since the last call.
    """
    batch = len(writers) * max(1, BATCH // len(writers))  # Every batch starts with the first writer.
    for start in range(0, instances.num_records, batch):
        rows = np.arange(start, min(start + batch, instances.num_records))
        columns = instances_lib.assemble(corpus, instances, rows, settings, vocabulary)
        for i, writer in enumerate(writers):
            writer.write({name: values[i::len(writers)] for name, values in columns.items()})
        on_progress(len(rows))


def compute_counts(corpus, instances, settings, unk_id):
    """Computes the Counts of a shard."""
    num_dropped = 0
    if settings.has_masks:
        required = np.maximum(1, np.rint(instances.lengths * settings.masked_lm_prob))
        num_dropped = np.maximum(0, required - settings.max_predictions_per_seq).sum()
    return Counts(
        num_bytes=corpus.num_bytes,
        num_documents=corpus.num_documents,
        num_sentences=corpus.num_sentences,
        num_tokens=len(corpus.tokens),
        num_unknown=int(np.count_nonzero(corpus.tokens == unk_id)),
        num_records=instances.num_records,
        num_ids=instances.num_records * settings.max_seq_length,
        num_real=int(instances.lengths.sum()),
        num_random_next=int(instances.labels.sum()),
        num_masked=len(instances.mask_positions),
        num_predictions_cut=int(num_dropped),
        num_garbled=corpus.num_garbled,
        num_sequences=len(instances))
