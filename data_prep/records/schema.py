"""The record schema: names, shapes, and dtypes of the features, and how records are parsed.

Only this module defines the content of records. A record is a serialized tf.train.Example in a
TFRecord file, with the features of the original BERT scripts. Training code calls `parse`; data
preparation passes batches of arrays to `RecordWriter`. TensorFlow is imported only on use.
"""

import dataclasses

# Name prefix of the features that label a sequence -> meanings of the labels 0 and 1.
SENTENCE_LABELS = {
    "next_sentence": ("actual next", "random next"),
    "sentence_order": ("in order", "swapped"),
}


@dataclasses.dataclass(frozen=True)
class Feature:
    """A feature of a record: `length` numbers of type int64, or float32 if `is_float`."""

    name: str
    length: int
    is_float: bool = False


def pretraining_features(
    max_seq_length, max_predictions_per_seq, *, sentence_label="next_sentence", max_packed=0
):
    """Returns the features of a pre-training record, a tuple of Feature.

    A record has S IDs, and P predictions, whose padding has weight 0.

    Args:
      max_seq_length, max_predictions_per_seq: int. S and P.
      sentence_label: str. Name prefix of the features that label a sequence. If None, there is no
        label.
      max_packed: int. Maximum number of sequences per packed record, K; 0 for one sequence each.
        In packed records, "input_mask" has the 1-based sequence number of each ID, and "positions"
        its position in the sequence. The label has "..._positions" of each [CLS], and
        "..._weights", 0 for absent sequences (MLPerf's packed format).
    """
    features = [
        Feature("input_ids", max_seq_length),
        Feature("input_mask", max_seq_length),
        Feature("segment_ids", max_seq_length),
    ]
    if max_packed:
        features.append(Feature("positions", max_seq_length))
    features += [
        Feature("masked_lm_positions", max_predictions_per_seq),
        Feature("masked_lm_ids", max_predictions_per_seq),
        Feature("masked_lm_weights", max_predictions_per_seq, is_float=True),
    ]
    if sentence_label and max_packed:
        features += [
            Feature(f"{sentence_label}_positions", max_packed),
            Feature(f"{sentence_label}_labels", max_packed),
            Feature(f"{sentence_label}_weights", max_packed, is_float=True),
        ]
    elif sentence_label:
        features.append(Feature(f"{sentence_label}_labels", 1))
    return tuple(features)


def unmasked_pretraining_features(max_seq_length, *, sentence_label="next_sentence", max_packed=0):
    """Returns the features of a record for dynamic masking, without those of masks.

    See `pretraining_features`. Whole-word masking also needs to know which IDs continue a word
    ("##..."). This is a property of the vocabulary (`masking.Vocabulary.is_continuation`), so it is
    not in the records.
    """
    features = pretraining_features(
        max_seq_length, 0, sentence_label=sentence_label, max_packed=max_packed
    )
    return tuple(feature for feature in features if not feature.name.startswith("masked_lm_"))


def classification_features(max_seq_length):
    """Returns the features of a classification record, a tuple of Feature.

    `is_real_example` is 0 in records that only pad a batch.
    """
    lengths = {
        "input_ids": max_seq_length,
        "input_mask": max_seq_length,
        "segment_ids": max_seq_length,
        "label_ids": 1,
        "is_real_example": 1,
    }
    return tuple(Feature(name, length) for name, length in lengths.items())


def parse(serialized, features):
    """Parses a batch of records; a graph function, for `dataset.batch(...).map(...)`.

    Args:
      serialized: string [B]. Serialized examples.
      features: Sequence of Feature.

    Returns:
      Dict of name to int32 [B, length] (TPUs have no int64), or float32 for a feature of floats.

    Raises:
      tf.errors.InvalidArgumentError: If a record lacks a feature, or has it with another type or
        length.
    """
    import tensorflow as tf

    parsed = tf.io.parse_example(
        serialized,
        {
            feature.name: tf.io.FixedLenFeature(
                [feature.length], tf.float32 if feature.is_float else tf.int64
            )
            for feature in features
        },
    )
    return {
        name: value if value.dtype == tf.float32 else tf.cast(value, tf.int32)
        for name, value in parsed.items()
    }
