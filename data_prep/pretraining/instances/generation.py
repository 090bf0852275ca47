"""Instances of a corpus, which are sentence pairs or sequences of whole sentences.

An instance has parts and masked tokens. Its parts are not copied from the corpus: they are ranges
of `Corpus.tokens`. Pairs are sampled with the random numbers of the original BERT's
`create_pretraining_data.py`. Sequences are like RoBERTa's FULL-SENTENCES and DOC-SENTENCES
(arXiv:1907.11692): a sequence takes sentences in order until no more fit, [CLS] a [SEP], or [CLS] a
[SEP] b [SEP] if the document ends in between and sequences cross documents. A sentence longer than
a sequence is split, and its rest begins the next sequence.
"""

import dataclasses
from typing import NamedTuple

import numpy as np

from bert_tf.errors import InputError
from data_prep.pretraining.instances import masking, packing, sampling
from data_prep.pretraining.instances.arrays import InstanceBuffers, Rules, Text
from data_prep.pretraining.instances.settings import NUM_SPECIAL

BATCH_SENTENCES = 1 << 14  # Sentences, or sequences, that are sampled together.


@dataclasses.dataclass(frozen=True)
class Instances:
    """Masked sequences of a corpus, in columns.

    There are n sequences with parts and masked positions, in records. An instance with two
    parts and 19 masks needs about 120 bytes until it is written.

    Attributes:
      parts: int32 [parts, 2], or int64 if the corpus requires it. Start and stop of each part in
        `Corpus.tokens`.
      part_starts: uint32 or uint64 [n + 1]. Instance n has the parts part_starts[n] to
        part_starts[n + 1] - 1.
      labels: bool [n]. Label of each sequence. See schema.SENTENCE_LABELS.
      mask_starts: int64 [n + 1]. Instance n has the masks mask_starts[n] to mask_starts[n + 1] - 1.
      mask_positions: uint16 [masks]. In sampling order.
      mask_replacements: int16 [masks], or int32 if the vocabulary requires it. ID at the position
        in the input, or sampling.KEEP.
      order: uint32 [n]. Permutation: the order for writing the instances.
      record_starts: uint32 [records + 1]. Record r has the instances record_starts[r] to
        record_starts[r + 1] - 1 of `order`: one, unless they are packed.
    """

    parts: np.ndarray
    part_starts: np.ndarray
    labels: np.ndarray
    mask_starts: np.ndarray
    mask_positions: np.ndarray
    mask_replacements: np.ndarray
    order: np.ndarray
    record_starts: np.ndarray

    def __len__(self):
        return len(self.order)

    @property
    def num_records(self):
        """Number of records."""
        return len(self.record_starts) - 1

    @property
    def lengths(self):
        """Integers [n]: number of IDs in each sequence, including special tokens."""
        tokens = np.add.reduceat(self.parts[:, 1] - self.parts[:, 0], self.part_starts[:-1])
        return tokens + np.diff(self.part_starts) + 1


class InstanceBatch(NamedTuple):
    """Some of the instances of a corpus, in columns: n instances, q parts, and m masks.

    Attributes:
      parts: Integers [q, 2]. Start and stop of each part.
      part_counts: Integers [n]. Number of parts of each instance.
      labels: bool [n].
      mask_counts: Integers [n]. Number of masks of each instance.
      mask_positions, mask_replacements: Integers [m]. See `InstanceBuffers`.
    """

    parts: np.ndarray
    part_counts: np.ndarray
    labels: np.ndarray
    mask_counts: np.ndarray
    mask_positions: np.ndarray
    mask_replacements: np.ndarray


def create_instances(corpus, settings, vocabulary, state):
    """Creates the instances of a corpus.

    Sentence pairs match the original BERT's `create_training_instances`: this function consumes the
    same random numbers in the same order, so documents, pairs, masks, and order are the same.
    Random second parts come from any document of `corpus`.

    Args:
      corpus: Corpus. It has as many documents as the objective requires.
      settings: InstanceSettings.
      vocabulary: masking.Vocabulary.
      state: int64 [1249]. State of the random numbers, see sampling; all sampling advances it.

    Returns:
      Instances.

    Raises:
      InputError: If the corpus yields no sequence.
    """
    text = create_text(corpus, settings, vocabulary)
    rules = create_rules(settings, vocabulary)
    dtypes = InstanceBatch(
        parts=np.promote_types(np.int32, _find_dtype(len(corpus.tokens))),
        part_counts=np.uint16,
        labels=bool,
        mask_counts=np.uint16,
        mask_positions=np.uint16,
        mask_replacements=_find_dtype(len(vocabulary.is_continuation)),
    )
    columns = InstanceBatch(
        [np.zeros((0, 2), dtypes.parts)], *([np.zeros(0, dtype)] for dtype in dtypes[1:])
    )
    generate = generate_pairs if settings.objective_spec.pairs else generate_sequences
    for batch in generate(state, corpus, text, rules, settings):
        for column, dtype, items in zip(columns, dtypes, batch, strict=True):
            column.append(items.astype(dtype))
    joined = InstanceBatch(*map(np.concatenate, columns))
    num_instances = len(joined.labels)
    if not num_instances:
        raise InputError(
            "the text yields no sequence, because each of its documents has only one token"
        )
    order = np.arange(num_instances, dtype=np.uint32)
    sampling.shuffle_array(state, order)
    start_dtype = np.promote_types(np.uint32, np.min_scalar_type(len(joined.parts)))
    instances = Instances(
        parts=joined.parts,
        part_starts=_compute_starts(joined.part_counts, start_dtype),
        labels=joined.labels,
        mask_starts=_compute_starts(joined.mask_counts, np.int64),
        mask_positions=joined.mask_positions,
        mask_replacements=joined.mask_replacements,
        order=order,
        record_starts=np.arange(num_instances + 1, dtype=np.uint32),
    )
    return packing.pack(instances, settings, state) if settings.pack_sequences else instances


def create_text(corpus, settings, vocabulary):
    """Creates Text, with its documents in their original order."""
    continues = np.zeros(0, bool)
    if settings.do_whole_word_mask and settings.has_masks:
        continues = vocabulary.is_continuation[corpus.tokens]
    return Text(
        corpus.sentence_starts,
        corpus.document_starts,
        np.arange(corpus.num_documents, dtype=np.uint32),
        continues,
    )


def create_rules(settings, vocabulary):
    """Creates Rules."""
    numbers = np.zeros(settings.max_seq_length + 1, np.int64)
    if settings.has_masks:
        numbers[:] = masking.numbers_to_predict(settings)
    return Rules(
        settings.max_seq_length - NUM_SPECIAL,
        float(settings.short_seq_prob),
        settings.objective_spec.pairs == "swapped",
        numbers,
        settings.do_whole_word_mask,
        vocabulary.mask_id,
        vocabulary.random_ids,
        float(settings.mask_fraction),
        masking.keep_probability(settings.mask_fraction, settings.random_fraction),
    )


def generate_pairs(state, corpus, text, rules, settings):
    """Yields the pairs of a corpus, for several documents at a time.

    Each pass samples different pairs.

    Args:
      state: int64 [1249]. See sampling.
      corpus: Corpus.
      text: Text. Its documents are shuffled.
      rules: Rules.
      settings: InstanceSettings.

    Yields:
      InstanceBatch, whose arrays the next iteration overwrites.
    """
    sampling.shuffle_array(state, text.documents)
    sizes = np.diff(corpus.document_starts)[text.documents]  # In sentences.
    buffers = create_buffers(
        max(int(sizes.max()), min(BATCH_SENTENCES, corpus.num_sentences)), settings
    )
    for _ in range(settings.num_passes):
        document = 0
        while document < len(sizes):
            sampled = sampling.sample_pairs(state, document, text, rules, buffers)
            yield InstanceBatch(
                buffers.parts[: 4 * sampled.num_pairs].reshape(-1, 2),
                np.full(sampled.num_pairs, 2),
                buffers.labels[: sampled.num_pairs],
                buffers.mask_counts[: sampled.num_pairs],
                buffers.mask_positions[: sampled.num_masks],
                buffers.mask_replacements[: sampled.num_masks],
            )
            document = sampled.document


def create_buffers(num_pairs, settings):
    """Creates InstanceBuffers for this many pairs."""
    num_masks = num_pairs * min(settings.max_predictions_per_seq, settings.max_seq_length)
    return InstanceBuffers(
        parts=np.empty(4 * num_pairs, np.int64),
        labels=np.empty(num_pairs, bool),
        mask_counts=np.empty(num_pairs, np.uint16),
        mask_positions=np.empty(num_masks, np.uint16),
        mask_replacements=np.empty(num_masks, np.int32),
        word_starts=np.arange(settings.max_seq_length + 1),
        word_order=np.empty(settings.max_seq_length + 1, np.int64),
    )


def generate_sequences(state, corpus, text, rules, settings):
    """Yields the sequences of a corpus, thousands at a time.

    Each pass masks the same sequences differently.

    See `generate_pairs` for arguments and yielded values. Sequences have no labels.
    """
    parts, part_starts = split_corpus(
        corpus, settings.max_seq_length, settings.objective_spec.crosses_documents
    )
    buffers = create_buffers(min(BATCH_SENTENCES, len(part_starts) - 1), settings)
    for _ in range(settings.num_passes):
        for first in range(0, len(part_starts) - 1, BATCH_SENTENCES):
            starts = part_starts[first : first + BATCH_SENTENCES + 1]
            batch_parts = np.ascontiguousarray(parts[starts[0] : starts[-1]])
            num_masks = sampling.sample_all_masks(
                state, starts - starts[0], text, rules, buffers._replace(parts=batch_parts.ravel())
            )
            count = len(starts) - 1
            yield InstanceBatch(
                batch_parts,
                np.diff(starts),
                np.zeros(count, bool),
                buffers.mask_counts[:count],
                buffers.mask_positions[:num_masks],
                buffers.mask_replacements[:num_masks],
            )


def split_corpus(corpus, max_seq_length, crosses_documents):
    """Divides a corpus into sequences.

    Args:
      corpus: Corpus.
      max_seq_length: int. Maximum number of IDs in a sequence, with [CLS] and a [SEP] after each
        part.
      crosses_documents: bool. Whether a sequence continues in the next document.

    Returns:
      Tuple `(parts, part_starts)`. Parts: int64 [parts, 2], start and stop of each in the tokens,
      each within one document. Part starts: int64 [n + 1]; sequence n has the parts part_starts[n]
      to part_starts[n + 1] - 1.
    """
    sentence_ends = corpus.sentence_starts[1:]
    document_ends = corpus.sentence_starts[corpus.document_starts[1:]]  # In tokens.
    # Number of IDs of all sentences up to each one, with a [SEP] for each document that ended
    # before it.
    totals = sentence_ends + np.searchsorted(document_ends, sentence_ends)
    bounds = []
    start = 0
    document = 0
    num_tokens = len(corpus.tokens)
    while start < num_tokens:
        while document_ends[document] <= start:
            document += 1
        max_total = start + document + max_seq_length - 2  # Without [CLS] and the last [SEP].
        stop = np.searchsorted(totals, max_total, side="right")  # In sentences.
        stop = int(sentence_ends[stop - 1]) if stop else 0
        if stop <= start:
            stop = start + max_seq_length - 2
        if not crosses_documents:
            stop = min(stop, int(document_ends[document]))
        bounds.append(stop)
        start = stop
    stops = np.union1d(bounds, document_ends)  # Ends of the parts, ascending.
    parts = np.stack([np.concatenate([[0], stops[:-1]]), stops], axis=1).astype(np.int64)
    part_starts = np.concatenate([[0], np.searchsorted(stops, bounds) + 1]).astype(np.int64)
    return parts, part_starts


def _find_dtype(max_value):
    """Returns the narrowest signed dtype of at least 16 bits for numbers up to `max_value`."""
    return np.promote_types(np.int16, np.min_scalar_type(-max_value - 1))


def _compute_starts(counts, dtype):
    """Returns [n + 1]: the sums of the first 0, 1, ..., n counts."""
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(dtype)
