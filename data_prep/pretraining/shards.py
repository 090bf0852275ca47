"""One shard of pre-training records: a part of the corpus in, its record files and what they hold out.

Needs no TensorFlow, so that a process that makes shards starts in a moment and takes little memory.
"""

import contextlib
import dataclasses
import os

import numpy as np

from bert_tf.files import garbled_note
from data_prep import records
from data_prep.pretraining import instances as instances_lib
from data_prep.pretraining.corpus import Corpus
from data_prep.pretraining.instances import InstanceSettings, Sampler, masking

BATCH = 1024  # records assembled and serialized together
MAX_UNKNOWN_SHARE = 0.05  # a text with more [UNK] is not what the vocabulary was made for


@dataclasses.dataclass(frozen=True)
class ShardTask:
    """What it takes to make a shard.

    Attributes:
      index: its number, from 0.
      corpus: its documents. Random next sentences come from these and no others.
      output_files: TFRecord files; records go to them in turn.
      settings: InstanceSettings.
      vocabulary: masking.Vocabulary.
      unk_id: id of [UNK].
      seed: of all its random draws, an int or str.
    """

    index: int
    corpus: Corpus
    output_files: tuple
    settings: InstanceSettings
    vocabulary: masking.Vocabulary
    unk_id: int
    seed: int | str


@dataclasses.dataclass(frozen=True)
class Counts:
    """What was read and written; counts of shards can be added.

    Attributes:
      num_bytes, num_documents, num_sentences, num_tokens, num_unknown: of the text, each counted once;
        `num_unknown` tokens are [UNK].
      num_records: records written.
      num_ids, num_real: ids of all records, and how many of them are not padding.
      num_sequences: sequences of all records.
      num_random_next: sequences of label 1: the second part comes from another place, or the parts are swapped.
      num_masked: masked positions.
      num_predictions_cut: positions that masked_lm_prob asked for and max_predictions_per_seq did not allow.
      num_garbled: lines of the text of which bytes that are not UTF-8 were dropped.
    """

    num_bytes: int = 0
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

    def __add__(self, other):
        return Counts(*(mine + theirs for mine, theirs
                        in zip(dataclasses.astuple(self), dataclasses.astuple(other), strict=True)))

    def lines(self, settings):
        """What was read and written in words, a list of lines; `settings`: InstanceSettings."""
        wrote = f"{self.num_records:,} records"
        if settings.pack_sequences:
            wrote += f" of {self.num_sequences:,} sequences, {self.num_sequences / self.num_records:.2f} each"
        masked = f", {self.num_masked / self.num_real:.1%} of these masked" if self.num_masked else ", unmasked"
        label = ""
        if settings.what.sentence_label:
            label = f", {self.num_random_next / self.num_sequences:.1%} {settings.what.label_names[1]}"
        lines = [
            f"read     {self.num_documents:,} documents, {self.num_sentences:,} sentences, "
            f"{self.num_tokens:,} tokens ({self.num_unknown / self.num_tokens:.2%} [UNK])",
            f"wrote    {wrote}: {self.num_real / self.num_ids:.1%} of their ids are real{masked}{label}",
        ]
        if self.num_predictions_cut:
            lines.append(f"note: `max_predictions_per_seq` is too small for `masked_lm_prob`: "
                         f"{self.num_predictions_cut:,} predictions were cut")
        if self.num_garbled:
            lines.append(f"note: {garbled_note(self.num_garbled)}")
        if self.num_unknown > MAX_UNKNOWN_SHARE * self.num_tokens:
            lines.append(f"warning: {self.num_unknown / self.num_tokens:.1%} of the tokens are [UNK]: does the "
                         f"vocabulary, or its casing, fit this text?")
        return lines


@dataclasses.dataclass(frozen=True)
class Shard:
    """A shard that was made: its number, its files, one dict of "file", "bytes", "sha256" each, and its Counts."""

    index: int
    files: list
    counts: Counts


@contextlib.contextmanager
def no_progress(*_):
    """Stands in for a progress bar that is not shown."""
    yield lambda amount: None


def make_shard(task, progress=no_progress):
    """Makes a shard's records; of sentence pairs, those that the original makes with the same settings and seed.

    Args:
      task: ShardTask.
      progress: called with description, total and unit of a step; gives a context manager of what is to be
        called with each advance.

    Returns:
      Shard. Its files are whole and have their names.

    Raises:
      InputError: fewer documents than the objective needs.
      OSError: a file that cannot be written; it is not left half-written.
    """
    corpus, settings = task.corpus, task.settings
    with contextlib.ExitStack() as stack:
        writers = [stack.enter_context(records.RecordWriter(path, settings.features))
                   for path in task.output_files]
        with progress("making instances", settings.num_passes * corpus.num_sentences, " sentences") as advance:
            instances = instances_lib.create_instances(
                corpus, settings, task.vocabulary, Sampler(task.seed), advance)
        with progress("writing", instances.num_records, " records") as advance:
            write_instances(corpus, instances, settings, task.vocabulary, writers, advance)
    files = [{"file": os.path.basename(writer.path), "bytes": writer.num_bytes, "sha256": writer.sha256.hexdigest()}
             for writer in writers]
    return Shard(task.index, files, count(corpus, instances, settings, task.unk_id))


def compile_ahead(task):
    """Compiles the functions that `make_shard` calls for a task, on a text of four words; processes load them."""
    two = np.arange(3)
    corpus = Corpus(np.ones(4, task.corpus.tokens.dtype), 2 * two, two, 0)
    settings = dataclasses.replace(task.settings, dupe_factor=1)
    instances = instances_lib.create_instances(corpus, settings, task.vocabulary, Sampler(1))
    columns = instances_lib.assemble(corpus, instances, np.arange(1), settings, task.vocabulary)
    records.compose_frames(columns, settings.features)


def write_instances(corpus, instances, settings, vocabulary, writers, on_progress):
    """Writes all records in their order, one by one to each of `writers` (RecordWriter) in turn.

    `on_progress` is called with the number of records written since the last call.
    """
    batch = len(writers) * max(1, BATCH // len(writers))  # every batch starts with the first writer
    for start in range(0, instances.num_records, batch):
        rows = np.arange(start, min(start + batch, instances.num_records))
        columns = instances_lib.assemble(corpus, instances, rows, settings, vocabulary)
        for i, writer in enumerate(writers):
            writer.write({name: values[i::len(writers)] for name, values in columns.items()})
        on_progress(len(rows))


def count(corpus, instances, settings, unk_id):
    """Counts of a shard."""
    num_cut = 0
    if settings.masking == "static":
        wanted = np.maximum(1, np.rint(instances.lengths * settings.masked_lm_prob))
        num_cut = np.maximum(0, wanted - settings.max_predictions_per_seq).sum()
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
        num_predictions_cut=int(num_cut),
        num_garbled=corpus.num_garbled,
        num_sequences=len(instances))
