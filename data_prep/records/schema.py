"""The one place that knows what a record holds: names, shapes, dtypes; how one is written and parsed.

A record is a serialized tf.train.Example in a TFRecord file, with the features of the original's scripts.
Training code asks for `feature_spec` or `parse`; whoever makes records fills `RecordWriter` with batches of
arrays. TensorFlow is imported only where it is needed: the processes that make records start in a moment
without it, and in a tenth of the memory.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Feature:
    """One feature of a record: `length` numbers, int64, or float32 if `is_float`."""

    name: str
    length: int
    is_float: bool = False


def pretraining_features(max_seq_length, max_predictions_per_seq, *, sentence_label="next_sentence", most_packed=0):
    """Features of a pre-training record: S ids, and P predictions of which padding has weight 0.

    Args:
      max_seq_length: S; max_predictions_per_seq: P.
      sentence_label: how the names of the features begin that label a whole sequence; None for no label.
      most_packed: K, for records that hold up to K sequences each; 0 for one sequence each. Packed, "input_mask" has
        the number of each id's sequence, from 1, and "positions" its place there; "..._positions" of the label are
        those of each [CLS], and "..._weights" 0 where there is no such sequence (MLPerf's format of packed records).
    """
    label = (Feature(f"{sentence_label}_labels", most_packed or 1),) if sentence_label else ()
    if sentence_label and most_packed:
        label = (Feature(f"{sentence_label}_positions", most_packed), *label,
                 Feature(f"{sentence_label}_weights", most_packed, is_float=True))
    return (
        Feature("input_ids", max_seq_length),
        Feature("input_mask", max_seq_length),
        Feature("segment_ids", max_seq_length),
        *((Feature("positions", max_seq_length),) if most_packed else ()),
        Feature("masked_lm_positions", max_predictions_per_seq),
        Feature("masked_lm_ids", max_predictions_per_seq),
        Feature("masked_lm_weights", max_predictions_per_seq, is_float=True),
        *label,
    )


def unmasked_pretraining_features(max_seq_length, *, sentence_label="next_sentence", most_packed=0):
    """Features of a pre-training record whose masks are drawn in training: those of `pretraining_features` but masks.

    Whole-word masking needs to know of each id whether its piece continues a word ("##..."): that is a property of the
    vocabulary (`masking.Vocabulary.is_continuation`), which records need not hold.
    """
    features = pretraining_features(max_seq_length, 0, sentence_label=sentence_label, most_packed=most_packed)
    return tuple(feature for feature in features if not feature.name.startswith("masked_lm_"))


def classification_features(max_seq_length):
    """Features of a classification record; is_real_example is 0 in one that only fills a batch up."""
    return (
        Feature("input_ids", max_seq_length),
        Feature("input_mask", max_seq_length),
        Feature("segment_ids", max_seq_length),
        Feature("label_ids", 1),
        Feature("is_real_example", 1),
    )


def feature_spec(features):
    """dict of name -> tf.io.FixedLenFeature, for tf.io.parse_example: int64 or float32, shape [length]."""
    import tensorflow as tf

    return {feature.name: tf.io.FixedLenFeature([feature.length],
                                                tf.float32 if feature.is_float else tf.int64)
            for feature in features}


def parse(serialized, features):
    """Parses a batch of records; a graph function, for `dataset.batch(...).map(...)`.

    Args:
      serialized: [B] string, serialized examples.
      features: sequence of Feature.

    Returns:
      dict of name -> [B, length] int32 (TPUs have no int64), or float32 where the feature is of floats.

    Raises:
      tf.errors.InvalidArgumentError: a record lacks a feature, or holds it in another type or length.
    """
    import tensorflow as tf

    parsed = tf.io.parse_example(serialized, feature_spec(features))
    return {name: value if value.dtype == tf.float32 else tf.cast(value, tf.int32)
            for name, value in parsed.items()}
