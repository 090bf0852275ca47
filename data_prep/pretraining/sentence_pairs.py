"""Documents -> masked sentence pairs, with the random draws of the original's `create_pretraining_data.py`.

A pair is not copied out of the corpus: its two parts are ranges of `Corpus.tokens`, so that an
instance of 19 masks takes some 110 bytes until it is written.
"""

import array
import dataclasses
from bisect import bisect_left

import numpy as np

from bert_tf.errors import InputError
from data_prep.pretraining import masking
from data_prep.pretraining.settings import NUM_SPECIAL, InstanceSettings

__all__ = ["InstanceSettings", "Instances", "assemble", "create_instances", "document_pairs"]

RANDOM_DOCUMENT_TRIES = 10  # of the original's create_instances_from_document


@dataclasses.dataclass(frozen=True)
class Instances:
    """Masked sentence pairs over a corpus, column by column; N of them, with M masked positions in all.

    Attributes:
      spans: [N, 4] int32, or int64 where the corpus needs it: start and stop of the first part, start and stop
        of the second, in `Corpus.tokens`.
      is_random_next: [N] bool; True where the second part comes from another place.
      mask_starts: [N + 1] int64; the masks of instance n are mask_starts[n] up to and without its successor.
      mask_positions: [M] uint16, in the order in which they were drawn.
      mask_replacements: [M] int16, or int32 where the vocabulary needs it: the id that stands there in the
        input, or masking.KEEP.
      order: [N] uint32, a permutation: the order in which the instances are to be written.
    """

    spans: np.ndarray
    is_random_next: np.ndarray
    mask_starts: np.ndarray
    mask_positions: np.ndarray
    mask_replacements: np.ndarray
    order: np.ndarray

    def __len__(self):
        return len(self.order)

    @property
    def lengths(self):
        """[N] integers: ids of each packed sequence, special pieces included."""
        return self.spans[:, 1] - self.spans[:, 0] + self.spans[:, 3] - self.spans[:, 2] + NUM_SPECIAL


def create_instances(corpus, settings, vocabulary, rng, on_progress=None):
    """Makes the instances of a corpus, as the original's `create_training_instances`.

    With `random.Random(seed)`, or a RandomDraws, as `rng`, it takes the draws of the original in its order:
    same documents, pairs, masks and order. Random second parts come from any document of `corpus`.

    Args:
      corpus: Corpus.
      settings: InstanceSettings.
      vocabulary: masking.Vocabulary.
      rng: random.Random; advanced.
      on_progress: called with the number of sentences done since the last call; each sentence of the corpus
        counts `settings.num_passes` times.

    Returns:
      Instances.

    Raises:
      InputError: the corpus has fewer than two documents.
    """
    if corpus.num_documents < 2:
        what = "is one document" if corpus.num_documents else "has no sentence"
        raise InputError(f"the text {what}: at least two documents, with a blank line between them, are needed to "
                         f"take a random next sentence from another one")
    documents = list(range(corpus.num_documents))
    rng.shuffle(documents)
    masker = None
    if settings.masking == "static":
        masker = masking.Masker(settings, vocabulary, corpus.tokens, rng)
    spans, is_random_next = array.array(_typecode(len(corpus.tokens))), bytearray()
    mask_counts, positions, replacements = array.array("H"), array.array("H"), array.array(_typecode(vocabulary.size))
    for _ in range(settings.num_passes):
        for place, document in enumerate(documents):
            # A generator: the next pair is drawn when asked for, after this one's masks, as in the original.
            for span, is_random in document_pairs(corpus, documents, place, settings, rng):
                spans.extend(span)
                is_random_next.append(is_random)
                if masker:
                    pair_positions, pair_replacements = masker(*span)
                    mask_counts.append(len(pair_positions))
                    positions.extend(pair_positions)
                    replacements.extend(pair_replacements)
            if on_progress:
                on_progress(corpus.document_starts[document + 1] - corpus.document_starts[document])
    order = array.array("I", range(len(is_random_next)))
    rng.shuffle(order)
    return Instances(
        spans=np.frombuffer(spans, spans.typecode).reshape(-1, 4),
        is_random_next=np.frombuffer(is_random_next, bool),
        mask_starts=np.concatenate([[0], np.cumsum(np.frombuffer(mask_counts, np.uint16), dtype=np.int64)]),
        mask_positions=np.frombuffer(positions, np.uint16),
        mask_replacements=np.frombuffer(replacements, replacements.typecode),
        order=np.frombuffer(order, np.uint32))


def _typecode(limit):
    """Of the narrowest signed array.array for numbers up to `limit`."""
    return next(code for code in "hiq" if limit < 1 << 8 * array.array(code).itemsize - 1)


def document_pairs(corpus, documents, place, settings, rng):
    """Yields the sentence pairs of a document, as the original's `create_instances_from_document`.

    Sentences are gathered until they fill a sequence, then cut in two at a random sentence. Half of the time
    the second part is replaced by a random place's sentences, and its own are used again for the next
    pair.

    Args:
      corpus: Corpus.
      documents: list of document numbers, shuffled.
      place: where in it the document stands.
      settings: InstanceSettings.
      rng: random.Random; advanced as pairs are taken.

    Yields:
      ((a_start, a_stop, b_start, b_stop), is_random_next): ranges of `corpus.tokens`, together at most
      max_seq_length - 3 ids.
    """
    starts = corpus.sentence_starts
    max_tokens = settings.max_seq_length - NUM_SPECIAL
    target = max_tokens
    if rng.random() < settings.short_seq_prob:
        target = rng.randint(2, max_tokens)
    first = corpus.document_starts[documents[place]]
    end = corpus.document_starts[documents[place] + 1]
    while first < end:
        stop = _first_filled(starts, first, end, target)
        middle = first + (rng.randint(1, stop - first - 1) if stop - first > 1 else 1)
        is_random_next = stop - first == 1 or rng.random() < 0.5
        if is_random_next:
            b_target = target - (starts[middle] - starts[first])
            b_first, b_stop = _random_sentences(corpus, documents, place, b_target, rng)
        else:
            b_first, b_stop = middle, stop
        span = starts[first], starts[middle], starts[b_first], starts[b_stop]
        yield _truncated(span, max_tokens, rng), is_random_next
        first = middle if is_random_next else stop


def _first_filled(starts, first, end, target):
    """The lowest stop for which sentences first to stop - 1 hold `target` tokens, `end` if they never do."""
    return bisect_left(starts, starts[first] + target, first + 1, end)


def _random_sentences(corpus, documents, place, target, rng):
    """First and stop of sentences of another document, if ten tries find one, that hold `target` tokens."""
    for _ in range(RANDOM_DOCUMENT_TRIES):
        other = rng.randint(0, len(documents) - 1)
        if other != place:
            break
    document_start = corpus.document_starts[documents[other]]
    document_end = corpus.document_starts[documents[other] + 1]
    first = document_start + rng.randint(0, document_end - document_start - 1)
    return first, _first_filled(corpus.sentence_starts, first, document_end, target)


def _truncated(span, max_tokens, rng):
    """Takes tokens off the longer part's front or back, one random draw each, until both fit."""
    a_start, a_stop, b_start, b_stop = span
    length_a, length_b = a_stop - a_start, b_stop - b_start
    while length_a + length_b > max_tokens:
        from_front = rng.random() < 0.5
        if length_a > length_b:
            length_a -= 1
            a_start += from_front
        else:
            length_b -= 1
            b_start += from_front
    return a_start, a_start + length_a, b_start, b_start + length_b


def assemble(corpus, instances, rows, settings, vocabulary):
    """The features of instances `rows` [B], as `settings.features` names them.

    Returns:
      dict: "input_ids", "input_mask" (1 for a real piece, 0 for padding), "segment_ids" [B, S] int64;
      "next_sentence_labels" [B, 1] int64, 1 for a random next; where `settings.masking` is "static" also
      "masked_lm_positions", "masked_lm_ids" [B, P] int64 in rising order of position, then 0, and
      "masked_lm_weights" [B, P] float32, 1 for a prediction, 0 for padding.
    """
    input_ids, segment_ids, lengths = _packed(corpus.tokens, instances.spans[rows], settings, vocabulary)
    features = {
        "input_ids": input_ids,
        "input_mask": (np.arange(settings.max_seq_length) < lengths[:, np.newaxis]).astype(np.int64),
        "segment_ids": segment_ids,
        "next_sentence_labels": instances.is_random_next[rows, np.newaxis].astype(np.int64),
    }
    if settings.masking == "dynamic":
        return features
    positions, replacements, is_masked = _masks(instances, rows, settings.max_predictions_per_seq)
    row_index = np.arange(len(rows))[:, np.newaxis]
    masked_ids = input_ids[row_index, positions]
    replaced = np.where(is_masked & (replacements != masking.KEEP), replacements, masked_ids)
    # Padding has position 0, where [CLS] stands: it puts [CLS] back there.
    input_ids[row_index, positions] = replaced
    return features | {
        "masked_lm_positions": positions,
        "masked_lm_ids": np.where(is_masked, masked_ids, 0),
        "masked_lm_weights": is_masked.astype(np.float32),
    }


def _packed(tokens, spans, settings, vocabulary):
    """[CLS] a [SEP] b [SEP] of spans [B, 4]: ids and segment ids [B, S] int64, 0 in padding; lengths [B]."""
    a_start, a_stop, b_start, b_stop = (spans[:, i:i + 1] for i in range(4))
    middle = a_stop - a_start + 1  # position of the first [SEP]
    last = middle + b_stop - b_start + 1  # and of the second
    columns = np.arange(settings.max_seq_length)
    in_b = (columns > middle) & (columns <= last)
    source = np.where(in_b, b_start - middle, a_start) + (columns - 1)
    is_token = (columns > 0) & (columns < last) & (columns != middle)
    input_ids = np.where(is_token, tokens[np.where(is_token, source, 0)], 0).astype(np.int64)
    np.put_along_axis(input_ids, middle, vocabulary.sep_id, axis=1)
    np.put_along_axis(input_ids, last, vocabulary.sep_id, axis=1)
    input_ids[:, 0] = vocabulary.cls_id
    return input_ids, in_b.astype(np.int64), last[:, 0] + 1


def _masks(instances, rows, max_predictions):
    """Positions (0 in padding) and replacements [B, P], in rising order; which are real, [B, P] bool."""
    starts = instances.mask_starts[rows, np.newaxis]
    counts = instances.mask_starts[rows + 1, np.newaxis] - starts
    columns = np.arange(max_predictions)
    is_masked = columns < counts
    source = np.where(is_masked, starts + columns, 0)
    positions = np.where(is_masked, instances.mask_positions[source], np.iinfo(np.int64).max)
    by_position = np.argsort(positions, axis=1)
    positions = np.where(is_masked, np.take_along_axis(positions, by_position, axis=1), 0)
    replacements = np.take_along_axis(instances.mask_replacements[source], by_position, axis=1)
    return positions, replacements, is_masked
