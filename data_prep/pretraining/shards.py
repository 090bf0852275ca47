"""Creation of one shard of pre-training records from a part of the text.

A finished shard has a small JSON file next to its records, written last, with its counts and the
sizes and SHA-256 of its files.
"""

import contextlib
import dataclasses
import functools
import json
import os

import numpy as np

from bert_tf import files
from bert_tf.cli.paths import FINISHED_SUFFIX
from bert_tf.errors import InputError
from bert_tf.files import describe_dropped_bytes, new_file, read_json_object
from data_prep import records
from data_prep.pretraining import instances as instances_lib
from data_prep.pretraining import parts
from data_prep.pretraining.corpus import tokenize
from data_prep.pretraining.instances import create_random_state, masking
from data_prep.reading import compute_digest

BATCH = 1024  # Records assembled and serialized together.
# Text with a larger fraction of [UNK] probably does not match the vocabulary.
MAX_UNKNOWN_FRACTION = 0.05


@dataclasses.dataclass(frozen=True)
class Shard:
    """A shard to create.

    Attributes:
      number, of: int. Its 0-based number, and how many shards the output has.
      text: Tuple of parts.FileRange. Its part of the text. Random next sentences come only from
        this part.
      files: Tuple of paths of TFRecord files. Records are written to them in turn.
      run_id: str. Identifies the settings and inputs of the run.
    """

    number: int
    of: int
    text: tuple
    files: tuple
    run_id: str

    @property
    def num_bytes(self):
        """Bytes of text, after decompression."""
        return sum(part.stop - part.start for part in self.text)

    def seed(self, random_seed):
        """Returns the seed of all random sampling for this shard.

        For the only shard, it is the one of the original BERT; otherwise, each has its own.
        """
        return random_seed if self.of == 1 else f"{random_seed}, shard {self.number}"


@dataclasses.dataclass(frozen=True)
class Counts:
    """Counts of the text read and the records written. Counts of shards can be added.

    Attributes:
      num_bytes, num_documents, num_sentences, num_tokens, num_unknown: Sizes of the text, each part
        counted once; `num_unknown` tokens are [UNK]. Bytes are counted after decompression.
      num_records: Number of records written.
      num_ids, num_real: Number of IDs in all records, and how many of them are not padding.
      num_sequences: Number of sequences in all records.
      num_random_next: Sequences with label 1: the second part comes from another document, or the
        parts are swapped.
      num_masked: Number of masked positions.
      num_predictions_cut: Number of positions required by masked_lm_prob but exceeding
        max_predictions_per_seq.
      num_garbled: Number of lines of text with invalid UTF-8 bytes, which were dropped.
    """

    num_bytes: int = 0
    num_documents: int = 0
    num_sentences: int = 0
    num_tokens: int = 0
    num_unknown: int = 0
    num_records: int = 0
    num_ids: int = 0
    num_real: int = 0
    num_sequences: int = 0
    num_random_next: int = 0
    num_masked: int = 0
    num_predictions_cut: int = 0
    num_garbled: int = 0

    def __add__(self, other):
        return Counts(
            *map(sum, zip(dataclasses.astuple(self), dataclasses.astuple(other), strict=True))
        )

    def to_lines(self, settings):
        """Describes the counts for the user, as a list of lines; `settings`: InstanceSettings."""
        written = f"{self.num_records:,} records"
        if settings.pack_sequences:
            written += (
                f" with {self.num_sequences:,} sequences, "
                f"{self.num_sequences / self.num_records:.2f} per record"
            )
        masked = ", unmasked"
        if self.num_masked:
            masked = f", {self.num_masked / self.num_real:.1%} of these masked"
        label = ""
        sentence_label = settings.objective_spec.sentence_label
        if sentence_label:
            label = (
                f", {self.num_random_next / self.num_sequences:.1%} "
                f"{records.SENTENCE_LABELS[sentence_label][1]}"
            )
        return [
            f"read     {self.num_documents:,} documents, {self.num_sentences:,} sentences, "
            f"{self.num_tokens:,} tokens ({self.num_unknown / self.num_tokens:.2%} [UNK])",
            f"wrote    {written}: {self.num_real / self.num_ids:.1%} non-padding "
            f"tokens{masked}{label}",
        ]

    def find_notes(self, settings):
        """Describes what a user should know about the text, as a list of lines.

        `settings`: InstanceSettings.
        """
        lines = []
        if settings.objective_spec.sentence_label and self.num_documents == self.num_sentences:
            lines.append(
                "note: each document has one sentence, so the pairs of sentences cannot be "
                "learned; write one sentence per line, and blank lines only between documents"
            )
        if self.num_predictions_cut:
            lines.append(
                f"note: `max_predictions_per_seq` is too small for `masked_lm_prob`: "
                f"{self.num_predictions_cut:,} predictions were dropped"
            )
        if self.num_garbled:
            lines.append(f"note: {describe_dropped_bytes(self.num_garbled)}")
        if self.num_unknown > MAX_UNKNOWN_FRACTION * self.num_tokens:
            lines.append(
                f"warning: {self.num_unknown / self.num_tokens:.1%} of the tokens are [UNK]; "
                "check that the vocabulary and its casing match the text"
            )
        return lines


def create_shard(shard, settings):
    """Creates the records of a shard.

    For sentence pairs, they are the same as in the original BERT with these settings, text, and
    seed.

    Args:
      shard: Shard.
      settings: JobSettings.

    Returns:
      Counts. The files of the shard are complete and have their final names.

    Raises:
      InputError: If the text has fewer documents than the objective requires, or is not text.
      OSError: If a file cannot be read or written. No partial file remains.
    """
    casing = settings.casing
    tokenizer, vocabulary = load_tokenizer(
        settings.vocab_file, casing.do_lower_case, casing.strip_accents, shard.run_id
    )
    corpus = tokenize(parts.read_part(shard.text), tokenizer)
    check_documents(corpus.num_documents, shard, settings)
    instances = instances_lib.create_instances(
        corpus,
        settings.instances,
        vocabulary,
        create_random_state(shard.seed(settings.random_seed)),
    )
    written = write_instances(corpus, instances, settings.instances, vocabulary, shard.files)
    counts = count(corpus, instances, settings.instances, tokenizer.unk_id)
    with new_file(shard.files[0] + FINISHED_SUFFIX) as file:
        content = {"run": shard.run_id, "files": written, "counts": dataclasses.asdict(counts)}
        file.write(json.dumps(content, indent=2) + "\n")
    return counts


@functools.lru_cache(maxsize=1)
def load_tokenizer(vocab_file, lower_case, strip_accents, run_id):
    """Loads a BertTokenizer and its masking.Vocabulary; the first call also imports TensorFlow.

    Args:
      vocab_file, lower_case, strip_accents: See BertTokenizer.
      run_id: Shard.run_id. Each run in a process reads the file once; its contents may
        change between runs.
    """
    from bert_tf.tokenization import BertTokenizer, read_added_tokens

    tokenizer = BertTokenizer(vocab_file, lower_case, strip_accents, read_added_tokens(vocab_file))
    return tokenizer, masking.Vocabulary.from_tokenizer(tokenizer)


def check_documents(num_documents, shard, settings):
    """Raises InputError if the text of a shard has fewer documents than the objective requires."""
    min_documents = settings.instances.objective_spec.min_documents
    if num_documents >= min_documents:
        return
    requirement = (
        "random next sentences require at least two documents; only blank lines separate "
        "documents, not files"
    )
    if shard.of > 1:
        documents = ("no document", "one document")[num_documents]
        reason = f"{requirement}; " if min_documents > 1 else ""
        raise InputError(
            f"shard {shard.number + 1} of {shard.of}, from byte {shard.text[0].start:,} of "
            f"{shard.text[0].path}, would contain {documents}; {reason}{parts.FEWER_SHARDS}"
        )
    if not num_documents:
        raise parts.create_empty_error(settings.input_file)
    raise InputError(f"only one document in {settings.input_file}; {requirement}")


def write_instances(corpus, instances, settings, vocabulary, paths):
    """Writes all records in order, each to the next of the files in turn.

    Returns:
      List with a dict of "file", "bytes", and "sha256" for each file.
    """
    batch = len(paths) * max(1, BATCH // len(paths))  # Every batch starts with the first file.
    with contextlib.ExitStack() as stack:
        writers = [
            stack.enter_context(records.RecordWriter(path, settings.features)) for path in paths
        ]
        for start in range(0, instances.num_records, batch):
            rows = np.arange(start, min(start + batch, instances.num_records))
            columns = instances_lib.assemble(corpus, instances, rows, settings, vocabulary)
            for i, writer in enumerate(writers):
                writer.write({name: values[i :: len(writers)] for name, values in columns.items()})
    return [
        {
            "file": os.path.basename(writer.path),
            "bytes": writer.num_bytes,
            "sha256": writer.sha256.hexdigest(),
        }
        for writer in writers
    ]


def count(corpus, instances, settings, unk_id):
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
        num_sequences=len(instances),
        num_random_next=int(instances.labels.sum()),
        num_masked=len(instances.mask_positions),
        num_predictions_cut=int(num_dropped),
        num_garbled=corpus.num_garbled,
    )


def read_finished(shard, verify=False):
    """Reads the Counts of a shard that a run with the same settings and inputs finished.

    Args:
      shard: Shard.
      verify: bool. Whether to compare the SHA-256 of its files, not only their sizes.

    Returns:
      Counts, or None if the shard was not finished, or if a file is missing or has changed.
    """
    path = shard.files[0] + FINISHED_SUFFIX
    if not files.at(path).exists():
        return None
    try:
        content = read_json_object(path)
        is_complete = content["run"] == shard.run_id and all(
            _is_unchanged(path, entry["bytes"], entry["sha256"] if verify else None)
            for path, entry in zip(shard.files, content["files"], strict=True)
        )
        counts = Counts(**{name: int(value) for name, value in content["counts"].items()})
        return counts if is_complete else None
    except (InputError, AttributeError, KeyError, TypeError, ValueError):
        return None  # The file was edited or damaged.


def _is_unchanged(path, num_bytes, sha256):
    """Returns whether a file has this size, and this SHA-256 unless it is None."""
    if not files.at(path).is_file() or files.at(path).size() != num_bytes:
        return False
    return sha256 is None or compute_digest(path) == sha256
