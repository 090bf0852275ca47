"""Instances -> the features of their records, in NumPy or compiled."""

import numpy as np

from data_prep.machine import compiled
from data_prep.pretraining.instances import draws

NO_NUMBERS = np.zeros((0, 0), np.int32)  # stands for a feature that a record does not have


def assemble(corpus, instances, records, settings, vocabulary, is_compiled=False):
    """The features of records, as `settings.features` names them.

    Args:
      corpus: Corpus.
      instances: Instances.
      records: [B] integers, the numbers of records in the order in which they are to be written.
      settings: InstanceSettings.
      vocabulary: masking.Vocabulary.
      is_compiled: whether a compiled function does it, which gives the same as int32 throughout; numba must be there.

    Returns:
      dict of int64 arrays: "input_ids"; "input_mask" (1 for a real piece, 0 for padding; packed, the number of its
      sequence); "segment_ids" [B, S], 1 in the second part of a pair; of a sequence's label, "..._labels" [B, 1], with
      packs [B, K], "..._positions" [B, K] and "..._weights" float32 [B, K]; with packs "positions" [B, S]; where
      `settings.masking` is "static" also "masked_lm_positions", "masked_lm_ids" [B, P] in rising order of position,
      then 0, and "masked_lm_weights" [B, P] float32, 1 for a prediction, 0 for padding.
    """
    fill = _fill_compiled if is_compiled else _fill
    dtype = np.int32 if is_compiled else np.int64
    features = {feature.name: np.zeros((len(records), feature.length), np.float32 if feature.is_float else dtype)
                for feature in settings.features}
    fill(corpus, instances, np.asarray(records), settings, vocabulary, features)
    return features


def _fill(corpus, instances, records, settings, vocabulary, features):
    """Fills features, which are 0 before."""
    counts = instances.record_starts[records + 1].astype(np.int64) - instances.record_starts[records]
    rows, places = np.repeat(np.arange(len(records)), counts), _ranges(np.zeros_like(counts), counts)
    members = instances.order[_ranges(instances.record_starts[records], counts)]  # instances, record by record
    part_counts = instances.part_starts[members + 1].astype(np.int64) - instances.part_starts[members]
    parts = instances.parts[_ranges(instances.part_starts[members], part_counts)]
    owners = np.repeat(np.arange(len(members)), part_counts)  # of each part, which member
    sizes = parts[:, 1] - parts[:, 0]
    lengths = 1 + part_counts + np.bincount(owners, sizes, len(members)).astype(np.int64)
    offsets = _sums_before(lengths, rows)  # of each member's [CLS]
    starts = offsets[owners] + 1 + _sums_before(sizes + 1, owners)  # of each part
    ids = features["input_ids"]
    ids[rows, offsets] = vocabulary.cls_id
    columns = _ranges(starts, sizes)
    ids[np.repeat(rows[owners], sizes), columns] = corpus.tokens[_ranges(parts[:, 0], sizes)]
    ids[rows[owners], starts + sizes] = vocabulary.sep_id
    real = np.repeat(rows, lengths), _ranges(offsets, lengths)
    features["input_mask"][real] = np.repeat(places + 1, lengths)
    if settings.what.pairs:
        second = np.flatnonzero(np.diff(owners, prepend=-1) == 0)
        in_second = np.repeat(rows[owners[second]], sizes[second] + 1), _ranges(starts[second], sizes[second] + 1)
        features["segment_ids"][in_second] = 1
    if settings.pack_sequences:
        features["positions"][real] = _ranges(np.zeros_like(lengths), lengths)
    if label := settings.what.sentence_label:
        features[f"{label}_labels"][rows, places] = instances.labels[members]
        if settings.pack_sequences:
            features[f"{label}_positions"][rows, places] = offsets
            features[f"{label}_weights"][rows, places] = 1
    if settings.masking == "static":
        _fill_masks(instances, members, rows, offsets, features)


def _fill_masks(instances, members, rows, offsets, features):
    """Masks `features["input_ids"]` and fills the features of the masks."""
    counts = instances.mask_starts[members + 1] - instances.mask_starts[members]
    masks = _ranges(instances.mask_starts[members], counts)
    rows, positions = np.repeat(rows, counts), instances.mask_positions[masks] + np.repeat(offsets, counts)
    rising = np.lexsort((positions, rows))
    rows, positions, masks = rows[rising], positions[rising], masks[rising]
    columns = _sums_before(np.ones_like(rows), rows)
    masked_ids = features["input_ids"][rows, positions]
    replacements = instances.mask_replacements[masks]
    features["input_ids"][rows, positions] = np.where(replacements == draws.KEEP, masked_ids, replacements)
    features["masked_lm_positions"][rows, columns] = positions
    features["masked_lm_ids"][rows, columns] = masked_ids
    features["masked_lm_weights"][rows, columns] = 1


def _ranges(starts, counts):
    """starts[0], starts[0] + 1, ... counts[0] numbers, then those of starts[1] and so on: int64."""
    counts = np.asarray(counts, np.int64)
    ends = np.cumsum(counts)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(np.asarray(starts, np.int64) - (ends - counts), counts)


def _sums_before(values, groups):
    """Of each value the sum of those before it in its group; groups [N], rising."""
    before = np.cumsum(values) - values
    first = np.searchsorted(groups, groups)  # of each, where its group begins
    return before - before[first]


def _fill_compiled(corpus, instances, records, settings, vocabulary, features):
    label = settings.what.sentence_label
    compiled(fill_records)(
        corpus.tokens, instances.parts, instances.part_starts, instances.labels, instances.order,
        instances.record_starts, records, bool(settings.what.pairs), settings.pack_sequences, vocabulary.cls_id,
        vocabulary.sep_id, *(features[name] for name in ("input_ids", "input_mask", "segment_ids")),
        features.get("positions", NO_NUMBERS),
        *(features.get(f"{label}_{name}", nothing) for name, nothing in (
            ("labels", NO_NUMBERS), ("positions", NO_NUMBERS), ("weights", NO_NUMBERS.astype(np.float32)))))
    if settings.masking == "static":
        compiled(fill_masks)(
            instances.mask_starts, instances.mask_positions, instances.mask_replacements, draws.KEEP, instances.order,
            instances.record_starts, records, features["input_ids"], features["input_mask"],
            *(features[f"masked_lm_{name}"] for name in ("positions", "ids", "weights")))


def fill_records(tokens, parts, part_starts, labels, order, record_starts, records, has_segments, is_packed, cls_id,
                 sep_id, input_ids, input_mask, segment_ids, positions, sentence_labels, sentence_positions,
                 sentence_weights):
    """Does what `_fill` does but for masks, to be compiled: fills the arrays from `input_ids` on, 0 before."""
    for row in range(len(records)):
        first, stop = record_starts[records[row]], record_starts[records[row] + 1]
        offset = 0
        for place in range(stop - first):
            instance = order[first + place]
            column = offset
            input_ids[row, column] = cls_id
            column += 1
            for part in range(part_starts[instance], part_starts[instance + 1]):
                is_second = has_segments and part > part_starts[instance]
                for token in range(parts[part, 0], parts[part, 1]):
                    input_ids[row, column] = tokens[token]
                    segment_ids[row, column] = is_second
                    column += 1
                input_ids[row, column] = sep_id
                segment_ids[row, column] = is_second
                column += 1
            for i in range(offset, column):
                input_mask[row, i] = place + 1
            if is_packed:
                for i in range(offset, column):
                    positions[row, i] = i - offset
            if len(sentence_labels):
                sentence_labels[row, place] = labels[instance]
                if is_packed:
                    sentence_positions[row, place] = offset
                    sentence_weights[row, place] = 1
            offset = column


def fill_masks(mask_starts, mask_positions, mask_replacements, keep, order, record_starts, records, input_ids,
               input_mask, positions, ids, weights):
    """Does what `_fill_masks` does, to be compiled, and masks `input_ids`; fills the last three arrays, 0 before."""
    for row in range(len(records)):
        first_instance, stop_instance = record_starts[records[row]], record_starts[records[row] + 1]
        first = offset = 0  # of the masks, and of the ids, of a sequence
        for i in range(first_instance, stop_instance):
            while input_mask[row, offset] != i - first_instance + 1:
                offset += 1
            start, stop = mask_starts[order[i]], mask_starts[order[i] + 1]
            for j in range(stop - start):
                position, replacement = mask_positions[start + j] + offset, mask_replacements[start + j]
                place = first + j
                while place > first and positions[row, place - 1] > position:
                    positions[row, place], ids[row, place] = positions[row, place - 1], ids[row, place - 1]
                    place -= 1
                positions[row, place], ids[row, place] = position, input_ids[row, position]
                weights[row, first + j] = 1
                if replacement != keep:
                    input_ids[row, position] = replacement
            first += stop - start
