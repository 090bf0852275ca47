"""Text files -> pre-training records in one process, with progress bars and a summary."""

import contextlib
import dataclasses
import os
import sys
import time

import numpy as np
import tensorflow as tf
import tqdm

from data_prep import corpus as corpus_lib
from data_prep import instances as instances_lib
from data_prep import masking, records
from data_prep.random_draws import RandomDraws

BATCH = 1024  # records assembled and serialized together
MAX_UNKNOWN_SHARE = 0.05  # a text with more [UNK] is not what the vocabulary was made for


@dataclasses.dataclass(frozen=True)
class Summary:
    """What a run read and wrote; `str()` gives it as lines for people.

    Attributes:
      num_bytes, num_documents, num_sentences, num_tokens: of the text, each counted once.
      unknown_share: share of the text's tokens that are [UNK].
      num_records: records written.
      real_share: share of the records' ids that are not padding.
      random_next_share: share of the records whose second part comes from another place.
      masked_share: masked positions as a share of the ids that are not padding.
      num_predictions_cut: positions that masked_lm_prob asked for and max_predictions_per_seq did not allow.
      seconds: from the first byte read to the last file named.
    """

    num_bytes: int
    num_documents: int
    num_sentences: int
    num_tokens: int
    unknown_share: float
    num_records: int
    real_share: float
    random_next_share: float
    masked_share: float
    num_predictions_cut: int
    seconds: float

    def __str__(self):
        lines = [
            f"read     {self.num_documents:,} documents, {self.num_sentences:,} sentences, "
            f"{self.num_tokens:,} tokens ({self.unknown_share:.2%} [UNK])",
            f"wrote    {self.num_records:,} records: {self.real_share:.1%} of their ids are real, "
            f"{self.masked_share:.1%} of these masked, {self.random_next_share:.1%} random next",
            f"took     {self.seconds:.1f} s, {self.num_bytes / 1e6 / self.seconds:.2f} MB of text a second",
        ]
        if self.num_predictions_cut:
            lines.append(f"note: max_predictions_per_seq is too small for masked_lm_prob: "
                         f"{self.num_predictions_cut:,} predictions were cut")
        if self.unknown_share > MAX_UNKNOWN_SHARE:
            lines.append(f"warning: {self.unknown_share:.1%} of the tokens are [UNK]: does the vocabulary, "
                         f"or its casing, fit this text?")
        return "\n".join(lines)


def create_pretraining_data(input_files, output_files, tokenizer, settings, seed):
    """Makes the records of text files, those that the original makes with the same settings and seed.

    Args:
      input_files: paths of text files, one sentence a line, a blank line after each document; .gz too.
      output_files: paths of the TFRecord files; records go to them in turn. Missing folders are made; each file
        appears when it is whole.
      tokenizer: BertTokenizer.
      settings: InstanceSettings.
      seed: an integer.

    Returns:
      Summary.

    Raises:
      ValueError: text that is not UTF-8, is empty or is one document only.
      OSError: a file that cannot be read or written.
    """
    start = time.perf_counter()
    features = records.pretraining_features(settings.max_seq_length, settings.max_predictions_per_seq)
    vocabulary = masking.Vocabulary.of_tokenizer(tokenizer)
    for path in output_files:
        tf.io.gfile.makedirs(os.path.dirname(path) or ".")
    with contextlib.ExitStack() as stack:
        writers = [stack.enter_context(records.RecordWriter(path, features)) for path in output_files]
        with _progress_bar("tokenizing", corpus_lib.total_size(input_files), "B") as bar:
            corpus = corpus_lib.read_corpus(input_files, tokenizer, bar.update)
        num_passes = settings.dupe_factor * corpus.num_sentences
        with _progress_bar("making instances", num_passes, " sentences") as bar:
            instances = instances_lib.create_instances(
                corpus, settings, vocabulary, RandomDraws(seed), bar.update)
        with _progress_bar("writing", len(instances), " records") as bar:
            write_instances(corpus, instances, settings, vocabulary, writers, bar.update)
    return _summary(corpus, instances, tokenizer, settings, time.perf_counter() - start)


def write_instances(corpus, instances, settings, vocabulary, writers, on_progress=None):
    """Writes all instances in their order, record by record to each of `writers` (RecordWriter) in turn.

    `on_progress` is called with the number of records written since the last call.
    """
    batch = len(writers) * max(1, BATCH // len(writers))  # every batch starts with the first writer
    for start in range(0, len(instances), batch):
        rows = instances.order[start:start + batch]
        serialized = records.serialize(
            instances_lib.assemble(corpus, instances, rows, settings, vocabulary), writers[0].features)
        for i, writer in enumerate(writers):
            writer.write_serialized(serialized[i::len(writers)])
        if on_progress:
            on_progress(len(rows))


def _progress_bar(description, total, unit):
    # Into a log file a line now and then is enough.
    return tqdm.tqdm(desc=f"{description:>16}", total=total, unit=unit, unit_scale=True, file=sys.stderr,
                     mininterval=0.2 if sys.stderr.isatty() else 10)


def _summary(corpus, instances, tokenizer, settings, seconds):
    wanted = np.maximum(1, np.rint(instances.lengths * settings.masked_lm_prob))
    num_real = instances.lengths.sum()
    return Summary(
        num_bytes=corpus.num_bytes,
        num_documents=corpus.num_documents,
        num_sentences=corpus.num_sentences,
        num_tokens=len(corpus.tokens),
        unknown_share=np.count_nonzero(corpus.tokens == tokenizer.unk_id) / len(corpus.tokens),
        num_records=len(instances),
        real_share=num_real / (len(instances) * settings.max_seq_length),
        random_next_share=instances.is_random_next.mean(),
        masked_share=len(instances.mask_positions) / num_real,
        num_predictions_cut=int(np.maximum(0, wanted - settings.max_predictions_per_seq).sum()),
        seconds=seconds)
