"""Assembly of record features from instances, in compiled code."""

import numpy as np

from data_prep.compilation import compile_function
from data_prep.pretraining.instances import sampling

NO_NUMBERS = np.zeros((0, 0), np.int32)  # Instead of a feature that a record does not have.


def assemble(corpus, instances, records, settings, vocabulary):
    """Creates the features of records, named by `settings.features`.

    Args:
      corpus: Corpus.
      instances: Instances.
      records: int64 [B]. Numbers of the records, in the order of writing.
      settings: InstanceSettings.
      vocabulary: masking.Vocabulary.

    Returns:
      Dict of int32 arrays: "input_ids"; "input_mask", 1 for tokens, 0 for padding (in packs, the
      1-based number of the sequence); "segment_ids" [B, S], 1 in the second part of a pair. For
      sequence labels, "..._labels" [B, 1]; in packs, "..._labels" [B, K], "..._positions" [B, K],
      "..._weights" float32 [B, K]. For packs, "positions" [B, S]. If `settings.has_masks`, also
      "masked_lm_positions", "masked_lm_ids" [B, P] in ascending order of position, padded with 0,
      and "masked_lm_weights" float32 [B, P], 1 for a prediction, 0 for padding.
    """
    features = {
        feature.name: np.zeros(
            (len(records), feature.length), np.float32 if feature.is_float else np.int32
        )
        for feature in settings.features
    }
    label = settings.objective_spec.sentence_label
    compile_function(fill_records)(
        corpus.tokens,
        instances.parts,
        instances.part_starts,
        instances.labels,
        instances.order,
        instances.record_starts,
        records,
        bool(settings.objective_spec.pairs),
        settings.pack_sequences,
        vocabulary.cls_id,
        vocabulary.sep_id,
        *(features[name] for name in ("input_ids", "input_mask", "segment_ids")),
        features.get("positions", NO_NUMBERS),
        *(
            features.get(f"{label}_{name}", nothing)
            for name, nothing in (
                ("labels", NO_NUMBERS),
                ("positions", NO_NUMBERS),
                ("weights", NO_NUMBERS.astype(np.float32)),
            )
        ),
    )
    if settings.has_masks:
        compile_function(fill_masks)(
            instances.mask_starts,
            instances.mask_positions,
            instances.mask_replacements,
            sampling.KEEP,
            instances.order,
            instances.record_starts,
            records,
            features["input_ids"],
            features["input_mask"],
            *(features[f"masked_lm_{name}"] for name in ("positions", "ids", "weights")),
        )
    return features


def fill_records(
    tokens,
    parts,
    part_starts,
    labels,
    order,
    record_starts,
    records,
    has_segments,
    is_packed,
    cls_id,
    sep_id,
    input_ids,
    input_mask,
    segment_ids,
    positions,
    sentence_labels,
    sentence_positions,
    sentence_weights,
):
    """Fills all features except the masks: the arrays from `input_ids` to the end, initially 0.

    To be compiled.
    """
    for row in range(len(records)):
        first = record_starts[records[row]]
        stop = record_starts[records[row] + 1]
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


def fill_masks(
    mask_starts,
    mask_positions,
    mask_replacements,
    keep,
    order,
    record_starts,
    records,
    input_ids,
    input_mask,
    positions,
    ids,
    weights,
):
    """Masks `input_ids` and fills the last three arrays, initially 0. To be compiled."""
    for row in range(len(records)):
        first_instance = record_starts[records[row]]
        stop_instance = record_starts[records[row] + 1]
        first = offset = 0  # First mask and first ID of a sequence.
        for i in range(first_instance, stop_instance):
            while input_mask[row, offset] != i - first_instance + 1:
                offset += 1
            start = mask_starts[order[i]]
            stop = mask_starts[order[i] + 1]
            for j in range(stop - start):
                position = mask_positions[start + j] + offset
                replacement = mask_replacements[start + j]
                place = first + j
                while place > first and positions[row, place - 1] > position:
                    positions[row, place] = positions[row, place - 1]
                    ids[row, place] = ids[row, place - 1]
                    place -= 1
                positions[row, place] = position
                ids[row, place] = input_ids[row, position]
                weights[row, first + j] = 1
                if replacement != keep:
                    input_ids[row, position] = replacement
            first += stop - start
