"""The predictions of left-to-right language modeling, in the form of those of the masked LM.

Shape legend: B batch, S sequence.
"""

import tensorflow as tf


def add_next_tokens(features, epochs, numbers):
    """Makes each token predict the next one of its sequence.

    Args:
      features: Dict of int32 [B, S]. Features of data_prep.records.unmasked_pretraining_features, packed or not.
      epochs, numbers: Unused; see `run.pretraining.dynamic_masking.make_masker`.

    Returns:
      The features, with "masked_lm_positions" and "masked_lm_ids", int32 [B, S - 1], and "masked_lm_weights", float32
      [B, S - 1], 0 for tokens without a next one.
    """
    del epochs, numbers
    input_ids, sequences = features["input_ids"], features["input_mask"]
    following = sequences[:, 1:]
    has_next = (following > 0) & (following == sequences[:, :-1])
    places = tf.range(input_ids.shape[1] - 1)[tf.newaxis]
    return {
        **features,
        "masked_lm_positions": tf.tile(places, [tf.shape(input_ids)[0], 1]),
        "masked_lm_ids": tf.where(has_next, input_ids[:, 1:], 0),
        "masked_lm_weights": tf.cast(has_next, tf.float32),
    }
