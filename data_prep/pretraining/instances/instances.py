"""Instances of a corpus: their parts and masked tokens."""

import dataclasses

import numpy as np

from bert_tf.errors import InputError
from data_prep.pretraining.instances import masking, packing, sentence_pairs, sequences
from data_prep.pretraining.instances.sampling import Rules, Text
from data_prep.pretraining.instances.settings import NUM_SPECIAL


@dataclasses.dataclass(frozen=True)
class Instances:
    """Masked sequences of a corpus, in columns: N sequences, Q parts, and M masked positions, in R records.

    An instance with two parts and 19 masks needs about 120 bytes until it is written.

    Attributes:
      parts: int32 [Q, 2], or int64 if the corpus requires it. Start and stop of each part in `Corpus.tokens`.
      part_starts: uint32 or uint64 [N + 1]. Instance n has the parts part_starts[n] to part_starts[n + 1] - 1.
      labels: bool [N]. Label of each sequence. See Objective.label_names.
      mask_starts: int64 [N + 1]. Instance n has the masks mask_starts[n] to mask_starts[n + 1] - 1.
      mask_positions: uint16 [M]. In sampling order.
      mask_replacements: int16 [M], or int32 if the vocabulary requires it. ID at the position in the input, or
        sampling.KEEP.
      order: uint32 [N]. Permutation: the order for writing the instances.
      record_starts: uint32 [R + 1]. Record r has the instances record_starts[r] to record_starts[r + 1] - 1 of
        `order`: one, unless they are packed.
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
        return len(self.record_starts) - 1

    @property
    def lengths(self):
        """Integers [N]: number of IDs in each sequence, including special tokens."""
        tokens = np.add.reduceat(self.parts[:, 1] - self.parts[:, 0], self.part_starts[:-1])
        return tokens + np.diff(self.part_starts) + 1


def create_instances(corpus, settings, vocabulary, sampler, on_progress=lambda sentences: None):
    """Creates the instances of a corpus; sentence pairs match the original BERT's `create_training_instances`.

    For pairs, consumes the random numbers of the original BERT in the same order, so documents, pairs, masks, and order
    are the same. Random second parts come from any document of `corpus`.

    Args:
      corpus: Corpus.
      settings: InstanceSettings.
      vocabulary: masking.Vocabulary.
      sampler: Sampler.
      on_progress: Callable of the number of sentences processed since the last call. Each sentence of the corpus counts
        `settings.num_passes` times.

    Returns:
      Instances.

    Raises:
      InputError: If the corpus has fewer documents than the objective requires, or yields no sequence.
    """
    check_documents(corpus.num_documents, settings)
    text, rules = create_text(corpus, settings, vocabulary), create_rules(settings, vocabulary)
    dtypes = (np.promote_types(np.int32, _find_dtype(len(corpus.tokens))), np.uint16, bool, np.uint16, np.uint16,
              _find_dtype(len(vocabulary.is_continuation)))
    columns = [[np.zeros((0, 2) if column == 0 else 0, dtype)] for column, dtype in enumerate(dtypes)]
    sample = sentence_pairs.sample if settings.objective_spec.pairs else sequences.sample
    for batch in sample(sampler, corpus, text, rules, settings, on_progress):
        for column, dtype, items in zip(columns, dtypes, batch, strict=True):
            column.append(items.astype(dtype))
    parts, part_counts, labels, mask_counts, mask_positions, mask_replacements = map(np.concatenate, columns)
    if not len(labels):
        raise InputError("the text yields no sequence, because each of its documents has only one token")
    order = np.arange(len(labels), dtype=np.uint32)
    sampler.shuffle(order)
    instances = Instances(
        parts, _compute_starts(part_counts, np.promote_types(np.uint32, np.min_scalar_type(len(parts)))), labels,
        _compute_starts(mask_counts, np.int64), mask_positions, mask_replacements, order,
        np.arange(len(order) + 1, dtype=np.uint32))
    return packing.pack(instances, settings, sampler) if settings.pack_sequences else instances


def check_documents(num_documents, settings, source="the text"):
    """Raises InputError if there are too few documents; `source` names the text in the message."""
    if num_documents >= settings.objective_spec.fewest_documents:
        return
    if not num_documents:
        raise InputError(f"{source} contains no sentences")
    raise InputError(f"{source} contains only one document; random next sentences require at least two, separated by a "
                     "blank line")


def create_text(corpus, settings, vocabulary):
    """Creates Text, with its documents in their original order."""
    continues = np.zeros(0, bool)
    if settings.do_whole_word_mask and settings.has_masks:
        continues = vocabulary.is_continuation[corpus.tokens]
    return Text(corpus.sentence_starts, corpus.document_starts, np.arange(corpus.num_documents, dtype=np.uint32),
                continues)


def create_rules(settings, vocabulary):
    """Creates Rules."""
    numbers = np.zeros(settings.max_seq_length + 1, np.int64)
    if settings.has_masks:
        numbers[:] = masking.numbers_to_predict(settings)
    return Rules(settings.max_seq_length - NUM_SPECIAL, float(settings.short_seq_prob),
                 settings.objective_spec.pairs == "swapped", numbers, settings.do_whole_word_mask, vocabulary.mask_id,
                 vocabulary.random_ids, float(settings.mask_fraction),
                 masking.keep_probability(settings.mask_fraction, settings.random_fraction))


def _find_dtype(limit):
    """Returns the narrowest signed dtype of at least 16 bits for numbers up to `limit`."""
    return np.promote_types(np.int16, np.min_scalar_type(-limit - 1))


def _compute_starts(counts, dtype):
    """Returns [N + 1]: the sums of the first 0, 1, ..., N counts."""
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(dtype)
