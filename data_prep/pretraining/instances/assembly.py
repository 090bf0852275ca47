"""Assembly of record features from instances, in compiled code."""

from typing import NamedTuple

import numpy as np

from data_prep.compilation import compiled
from data_prep.pretraining.instances import sampling

NO_NUMBERS = np.zeros((0, 0), np.int32)  # Instead of a feature that a record does not have.


class Sequences(NamedTuple):
    """The instances of records. See `Instances` for the arrays.

    Attributes:
      records: int64 [B]. Numbers of the records to fill.
    """

    parts: np.ndarray
    part_starts: np.ndarray
    labels: np.ndarray
    order: np.ndarray
    record_starts: np.ndarray
    records: np.ndarray


class Layout(NamedTuple):
    """The layout of a record.

    Attributes:
      has_segments: bool. Whether the second part of an instance has the segment ID 1.
      is_packed: bool. Whether a record can have several sequences.
      cls_id, sep_id: int. IDs of [CLS] and [SEP].
    """

    has_segments: bool
    is_packed: bool
    cls_id: int
    sep_id: int


class SequenceFeatures(NamedTuple):
    """The features of records except the masks, initially 0, or NO_NUMBERS if they have none."""

    input_ids: np.ndarray
    input_mask: np.ndarray
    segment_ids: np.ndarray
    positions: np.ndarray
    sentence_labels: np.ndarray
    sentence_positions: np.ndarray
    sentence_weights: np.ndarray


class Masks(NamedTuple):
    """The masks of instances. See `Instances` for the arrays.

    Attributes:
      keep: int. Instead of a replacement's ID: the token stays unchanged.
    """

    starts: np.ndarray
    positions: np.ndarray
    replacements: np.ndarray
    keep: int


class MaskFeatures(NamedTuple):
    """The features of the masks of records, [B, P], initially 0."""

    positions: np.ndarray
    ids: np.ndarray
    weights: np.ndarray


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
    sequences = Sequences(
        instances.parts,
        instances.part_starts,
        instances.labels,
        instances.order,
        instances.record_starts,
        records,
    )
    layout = Layout(
        has_segments=bool(settings.objective_spec.pairs),
        is_packed=settings.pack_sequences,
        cls_id=vocabulary.cls_id,
        sep_id=vocabulary.sep_id,
    )
    sequence_features = _select_features(features, settings.objective_spec.sentence_label)
    fill_records(corpus.tokens, sequences, layout, sequence_features)
    if settings.has_masks:
        masks = Masks(
            instances.mask_starts,
            instances.mask_positions,
            instances.mask_replacements,
            sampling.KEEP,
        )
        mask_features = MaskFeatures(
            *(features[f"masked_lm_{name}"] for name in MaskFeatures._fields)
        )
        fill_mask_features(
            masks, sequences, features["input_ids"], features["input_mask"], mask_features
        )
    return features


def _select_features(features, label):
    """Returns the SequenceFeatures of a dict of features; `label`: str, prefix of the label."""
    return SequenceFeatures(
        features["input_ids"],
        features["input_mask"],
        features["segment_ids"],
        features.get("positions", NO_NUMBERS),
        features.get(f"{label}_labels", NO_NUMBERS),
        features.get(f"{label}_positions", NO_NUMBERS),
        features.get(f"{label}_weights", NO_NUMBERS.astype(np.float32)),
    )


@compiled
def fill_records(tokens, sequences, layout, features):
    """Fills all features except the masks.

    Args:
      tokens: Integers [T]. The tokens of the corpus.
      sequences: Sequences.
      layout: Layout.
      features: SequenceFeatures.
    """
    part_starts = sequences.part_starts
    for row in range(len(sequences.records)):
        first = sequences.record_starts[sequences.records[row]]
        stop = sequences.record_starts[sequences.records[row] + 1]
        offset = 0
        for slot in range(stop - first):
            instance = sequences.order[first + slot]
            column = offset
            features.input_ids[row, column] = layout.cls_id
            column += 1
            for part in range(part_starts[instance], part_starts[instance + 1]):
                is_second = layout.has_segments and part > part_starts[instance]
                for token in range(sequences.parts[part, 0], sequences.parts[part, 1]):
                    features.input_ids[row, column] = tokens[token]
                    features.segment_ids[row, column] = is_second
                    column += 1
                features.input_ids[row, column] = layout.sep_id
                features.segment_ids[row, column] = is_second
                column += 1
            for i in range(offset, column):
                features.input_mask[row, i] = slot + 1
            if layout.is_packed:
                for i in range(offset, column):
                    features.positions[row, i] = i - offset
            if len(features.sentence_labels):
                features.sentence_labels[row, slot] = sequences.labels[instance]
                if layout.is_packed:
                    features.sentence_positions[row, slot] = offset
                    features.sentence_weights[row, slot] = 1
            offset = column


@compiled
def fill_mask_features(masks, sequences, input_ids, input_mask, features):
    """Masks the IDs of filled records, and fills the features of their masks.

    Args:
      masks: Masks.
      sequences: Sequences.
      input_ids, input_mask: int32 [B, S]. From `fill_records`. The masks change `input_ids`.
      features: MaskFeatures.
    """
    positions = features.positions
    for row in range(len(sequences.records)):
        first_instance = sequences.record_starts[sequences.records[row]]
        stop_instance = sequences.record_starts[sequences.records[row] + 1]
        first = offset = 0  # First mask and first ID of a sequence.
        for i in range(first_instance, stop_instance):
            while input_mask[row, offset] != i - first_instance + 1:
                offset += 1
            start = masks.starts[sequences.order[i]]
            stop = masks.starts[sequences.order[i] + 1]
            for j in range(stop - start):
                position = masks.positions[start + j] + offset
                replacement = masks.replacements[start + j]
                slot = first + j
                while slot > first and positions[row, slot - 1] > position:
                    positions[row, slot] = positions[row, slot - 1]
                    features.ids[row, slot] = features.ids[row, slot - 1]
                    slot -= 1
                positions[row, slot] = position
                features.ids[row, slot] = input_ids[row, position]
                features.weights[row, first + j] = 1
                if replacement != masks.keep:
                    input_ids[row, position] = replacement
            first += stop - start
