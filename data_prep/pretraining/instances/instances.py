"""A corpus -> its instances: what each is made of and which of its pieces are masked."""

import dataclasses

import numpy as np

from bert_tf.errors import InputError
from data_prep.pretraining.instances import masking, packing, sentence_pairs, sequences
from data_prep.pretraining.instances.sampling import Rules, Text
from data_prep.pretraining.instances.settings import NUM_SPECIAL


@dataclasses.dataclass(frozen=True)
class Instances:
    """Masked sequences over a corpus, column by column: N of them, of Q parts, with M masked positions, in R records.

    An instance of two parts and 19 masks takes some 120 bytes until it is written.

    Attributes:
      parts: [Q, 2] int32, or int64 where the corpus needs it: start and stop of each part in `Corpus.tokens`.
      part_starts: [N + 1] uint32 or uint64; instance n has the parts from item n up to and without its successor.
      labels: [N] bool, what is to be predicted of the whole: see Objective.label_names.
      mask_starts: [N + 1] int64; the masks of instance n are mask_starts[n] up to and without its successor.
      mask_positions: [M] uint16, in the order in which they were drawn.
      mask_replacements: [M] int16, or int32 where the vocabulary needs it: the id that stands there in the
        input, or sampling.KEEP.
      order: [N] uint32, a permutation: the order in which the instances are to be written.
      record_starts: [R + 1] uint32; record r holds the instances record_starts[r] up to and without its successor of
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
        """[N] integers: ids of each sequence, special pieces included."""
        tokens = np.add.reduceat(self.parts[:, 1] - self.parts[:, 0], self.part_starts[:-1])
        return tokens + np.diff(self.part_starts) + 1


def create_instances(corpus, settings, vocabulary, sampler, on_progress=lambda sentences: None):
    """Makes the instances of a corpus: sentence pairs as the original's `create_training_instances`.

    For these it uses the random numbers of the original in its order: same documents, pairs, masks, and order. Random
    second parts come from any document of `corpus`.

    Args:
      corpus: Corpus.
      settings: InstanceSettings.
      vocabulary: masking.Vocabulary.
      sampler: Sampler.
      on_progress: called with the number of sentences done since the last call; each sentence of the corpus
        counts `settings.num_passes` times.

    Returns:
      Instances.

    Raises:
      InputError: the corpus has fewer documents than its objective needs, or nothing that a sequence can be made of.
    """
    check_documents(corpus.num_documents, settings)
    text, rules = create_text(corpus, settings, vocabulary), create_rules(settings, vocabulary)
    dtypes = (np.promote_types(np.int32, _narrowest(len(corpus.tokens))), np.uint16, bool, np.uint16, np.uint16,
              _narrowest(vocabulary.size))
    columns = [[np.zeros((0, 2) if column == 0 else 0, dtype)] for column, dtype in enumerate(dtypes)]
    sample = sentence_pairs.sample if settings.what.pairs else sequences.sample
    for some in sample(sampler, corpus, text, rules, settings, on_progress):
        for column, dtype, items in zip(columns, dtypes, some, strict=True):
            column.append(items.astype(dtype))
    parts, part_counts, labels, mask_counts, mask_positions, mask_replacements = map(np.concatenate, columns)
    if not len(labels):
        raise InputError("the text gives no sequence: its documents are of one token each")
    order = np.arange(len(labels), dtype=np.uint32)
    sampler.shuffle(order)
    made = Instances(parts, _starts(part_counts, np.promote_types(np.uint32, np.min_scalar_type(len(parts)))), labels,
                     _starts(mask_counts, np.int64), mask_positions, mask_replacements, order,
                     np.arange(len(order) + 1, dtype=np.uint32))
    return packing.pack(made, settings, sampler) if settings.pack_sequences else made


def check_documents(num_documents, settings, what="the text"):
    """Raises InputError for too few documents; `what` names them."""
    if num_documents >= settings.what.fewest_documents:
        return
    if not num_documents:
        raise InputError(f"{what} has no sentence")
    raise InputError(f"{what} is one document: at least two documents, with a blank line between them, are needed to "
                     f"take a random next sentence from another one")


def create_text(corpus, settings, vocabulary):
    """Creates Text, its documents not yet shuffled."""
    continues = np.zeros(0, bool)
    if settings.do_whole_word_mask and settings.masking == "static":
        continues = vocabulary.is_continuation[corpus.tokens]
    return Text(corpus.sentence_starts, corpus.document_starts, np.arange(corpus.num_documents, dtype=np.uint32),
                continues)


def create_rules(settings, vocabulary):
    """Creates Rules."""
    numbers = np.zeros(settings.max_seq_length + 1, np.int64)
    if settings.masking == "static":
        numbers[:] = masking.numbers_to_predict(settings)
    return Rules(settings.max_seq_length - NUM_SPECIAL, float(settings.short_seq_prob),
                 settings.what.pairs == "swapped", numbers, settings.do_whole_word_mask, vocabulary.mask_id,
                 vocabulary.size - 1)


def _narrowest(limit):
    """The narrowest signed dtype of at least 16 bits for numbers up to `limit`."""
    return np.promote_types(np.int16, np.min_scalar_type(-limit - 1))


def _starts(counts, dtype):
    """[N + 1]: the sums of the first 0, 1, ..., N counts."""
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(dtype)
