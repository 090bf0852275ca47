"""Documents -> masked sentence pairs, with the random draws of the original's `create_pretraining_data.py`.

A pair is not copied out of the corpus: its two parts are ranges of `Corpus.tokens`, so that an
instance of 19 masks takes some 110 bytes until it is written.
"""

import dataclasses

import numpy as np

from bert_tf.errors import InputError
from data_prep.compiled import compiled
from data_prep.pretraining import draws, masking
from data_prep.pretraining.settings import NUM_SPECIAL, InstanceSettings

__all__ = ["InstanceSettings", "Instances", "assemble", "create_instances"]

ROOM = 1 << 14  # sentences whose pairs are drawn together


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
        input, or draws.KEEP.
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


def create_instances(corpus, settings, vocabulary, rng, on_progress=lambda sentences: None, is_compiled=False):
    """Makes the instances of a corpus, as the original's `create_training_instances`.

    It takes the draws of the original in its order, of `random.Random` with the same seed: same documents, pairs, masks
    and order. Random second parts come from any document of `corpus`.

    Args:
      corpus: Corpus.
      settings: InstanceSettings.
      vocabulary: masking.Vocabulary.
      rng: draws.RandomDraws; advanced.
      on_progress: called with the number of sentences done since the last call; each sentence of the corpus
        counts `settings.num_passes` times.
      is_compiled: whether compiled functions do it, to the same result; numba must be there.

    Returns:
      Instances.

    Raises:
      InputError: the corpus has fewer than two documents.
    """
    if corpus.num_documents < 2:
        what = "is one document" if corpus.num_documents else "has no sentence"
        raise InputError(f"the text {what}: at least two documents, with a blank line between them, are needed to "
                         f"take a random next sentence from another one")
    draw = draws.CompiledDraws(rng) if is_compiled else draws.PlainDraws(rng)
    text, rules = _text(corpus, settings, vocabulary), _rules(settings, vocabulary)
    draw.shuffle(text.documents)
    sizes = np.diff(corpus.document_starts)[text.documents]  # in sentences
    drawn = _room(max(int(sizes.max()), min(ROOM, corpus.num_sentences)), settings)
    dtypes = (np.promote_types(np.int32, _narrowest(len(corpus.tokens))), bool, np.uint16, np.uint16,
              _narrowest(vocabulary.size))
    columns = [[np.zeros(0, dtype)] for dtype in dtypes]  # spans, is_random_next, the masks' counts and themselves
    for _ in range(settings.num_passes):
        place = 0
        while place < len(sizes):
            first = place
            place, num_pairs, num_masks = draw.draw_pairs(first, text, rules, drawn)
            lengths = 4 * num_pairs, num_pairs, num_pairs, num_masks, num_masks
            for column, dtype, items, length in zip(columns, dtypes, drawn, lengths, strict=False):
                column.append(items[:length].astype(dtype))
            on_progress(int(sizes[first:place].sum()))
    spans, is_random_next, mask_counts, mask_positions, mask_replacements = map(np.concatenate, columns)
    order = np.arange(len(is_random_next), dtype=np.uint32)
    draw.shuffle(order)
    mask_starts = np.concatenate([[0], np.cumsum(mask_counts, dtype=np.int64)])
    return Instances(spans.reshape(-1, 4), is_random_next, mask_starts, mask_positions, mask_replacements, order)


def _text(corpus, settings, vocabulary):
    """draws.Text, the documents not yet shuffled."""
    continues = np.zeros(0, bool)
    if settings.do_whole_word_mask and settings.masking == "static":
        continues = vocabulary.is_continuation[corpus.tokens]
    return draws.Text(corpus.sentence_starts, corpus.document_starts,
                      np.arange(corpus.num_documents, dtype=np.uint32), continues)


def _rules(settings, vocabulary):
    numbers = np.zeros(settings.max_seq_length + 1, np.int64)
    if settings.masking == "static":
        numbers[:] = [masking.number_to_predict(length, settings.masked_lm_prob, settings.max_predictions_per_seq)
                      for length in range(len(numbers))]
    return draws.Rules(settings.max_seq_length - NUM_SPECIAL, float(settings.short_seq_prob), numbers,
                       settings.do_whole_word_mask, vocabulary.mask_id, vocabulary.size - 1)


def _room(num_pairs, settings):
    """draws.Drawn for so many pairs."""
    num_masks = num_pairs * min(settings.max_predictions_per_seq, settings.max_seq_length)
    return draws.Drawn(
        spans=np.empty(4 * num_pairs, np.int64), is_random_next=np.empty(num_pairs, bool),
        mask_counts=np.empty(num_pairs, np.uint16), mask_positions=np.empty(num_masks, np.uint16),
        mask_replacements=np.empty(num_masks, np.int32), word_starts=np.arange(settings.max_seq_length + 1))


def _narrowest(limit):
    """The narrowest signed dtype of at least 16 bits for numbers up to `limit`."""
    return np.promote_types(np.int16, np.min_scalar_type(-limit - 1))


def assemble(corpus, instances, rows, settings, vocabulary, is_compiled=False):
    """The features of instances `rows` [B], as `settings.features` names them.

    Args:
      is_compiled: whether a compiled function does it, which gives the same as int32 throughout; numba must be there.

    Returns:
      dict: "input_ids", "input_mask" (1 for a real piece, 0 for padding), "segment_ids" [B, S] int64;
      "next_sentence_labels" [B, 1] int64, 1 for a random next; where `settings.masking` is "static" also
      "masked_lm_positions", "masked_lm_ids" [B, P] int64 in rising order of position, then 0, and
      "masked_lm_weights" [B, P] float32, 1 for a prediction, 0 for padding.
    """
    if is_compiled:
        return _assemble_compiled(corpus, instances, rows, settings, vocabulary)
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
    replaced = np.where(is_masked & (replacements != draws.KEEP), replacements, masked_ids)
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


def _assemble_compiled(corpus, instances, rows, settings, vocabulary):
    features = {feature.name: np.zeros((len(rows), feature.length), np.float32 if feature.is_float else np.int32)
                for feature in settings.features}
    compiled(fill_pairs)(corpus.tokens, instances.spans, instances.is_random_next, rows, vocabulary.cls_id,
                         vocabulary.sep_id, *(features[name] for name in (
                             "input_ids", "input_mask", "segment_ids", "next_sentence_labels")))
    if settings.masking == "static":
        compiled(fill_masks)(instances.mask_starts, instances.mask_positions, instances.mask_replacements, draws.KEEP,
                             rows, features["input_ids"], *(features[f"masked_lm_{name}"] for name in (
                                 "positions", "ids", "weights")))
    return features


def fill_pairs(tokens, spans, is_random_next, rows, cls_id, sep_id, input_ids, input_mask, segment_ids, labels):
    """Does what `_packed` does, to be compiled: fills the last four arrays, which are 0 before."""
    for row in range(len(rows)):
        a_start, a_stop = spans[rows[row], 0], spans[rows[row], 1]
        b_start, b_stop = spans[rows[row], 2], spans[rows[row], 3]
        middle = a_stop - a_start + 1
        last = middle + b_stop - b_start + 1
        input_ids[row, 0] = cls_id
        for i in range(a_stop - a_start):
            input_ids[row, 1 + i] = tokens[a_start + i]
        input_ids[row, middle] = sep_id
        for i in range(b_stop - b_start):
            input_ids[row, middle + 1 + i] = tokens[b_start + i]
        input_ids[row, last] = sep_id
        for i in range(last + 1):
            input_mask[row, i] = 1
            segment_ids[row, i] = i > middle
        labels[row, 0] = is_random_next[rows[row]]


def fill_masks(mask_starts, mask_positions, mask_replacements, keep, rows, input_ids, positions, ids, weights):
    """Does what `_masks` does, to be compiled, and masks `input_ids`; fills the last three arrays, 0 before."""
    for row in range(len(rows)):
        start, stop = mask_starts[rows[row]], mask_starts[rows[row] + 1]
        for i in range(stop - start):
            position, replacement = mask_positions[start + i], mask_replacements[start + i]
            place = i
            while place and positions[row, place - 1] > position:
                positions[row, place], ids[row, place] = positions[row, place - 1], ids[row, place - 1]
                place -= 1
            positions[row, place], ids[row, place] = position, input_ids[row, position]
            weights[row, i] = 1
            if replacement != keep:
                input_ids[row, position] = replacement
