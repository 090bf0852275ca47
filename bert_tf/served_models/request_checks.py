"""Processes the features of a request: removes padding, and checks features from clients.

Legend: B texts, S sequence.
"""

import tensorflow as tf


def trim_padding(features):
    """Removes the columns of int [B, S] features that are padding in every row, but keeps at least one column."""
    mask = features["input_mask"]
    used = tf.reduce_any(mask > 0, axis=0)
    longest = tf.maximum(tf.reduce_max(tf.where(used, tf.range(1, tf.size(used) + 1), 0)), 1)
    return {name: value[:, :longest] for name, value in features.items()}


def check_features(features, config):
    """Checks features int32 [B, S] from a client; returns them, or fails with InvalidArgumentError.

    Otherwise, inconsistent shapes, sequences over max_position_embeddings, and IDs out of range would cause unclear
    errors or, on some devices, wrong predictions.
    """
    ids = features["input_ids"]
    limits = {"input_ids": config.vocab_size, "input_mask": 2, "segment_ids": config.num_segments}
    checks = [check(tf.shape(ids)[-1] > 0, "input_ids have no columns"),
              check(tf.shape(ids)[-1] <= config.max_position_embeddings,
                    f"input_ids have more columns than max_position_embeddings, {config.max_position_embeddings}")]
    for name, limit in limits.items():
        value = features[name]
        checks += [
            check(tf.shape(value) == tf.shape(ids), f"{name} must have the shape of input_ids"),
            check(value >= 0, f"{name} must not be negative"),
            check(value < limit, f"{name} must be below {limit}"),
        ]
    return after(checks, features)


def check(condition, message):
    """Creates an op that fails with InvalidArgumentError and a message unless all of a bool tensor is True.

    The assertions of tf.debugging create a conditional and two functions each, which used to be half of "ids" and
    "tf_example".
    """
    return tf.raw_ops.Assert(condition=tf.reduce_all(condition), data=[message])


def after(checks, tensors):
    """Returns the dict `tensors`, to use after the assertions `checks` pass; those of eager mode, None, have passed."""
    with tf.control_dependencies([check for check in checks if check is not None]):
        return {name: tf.identity(value) for name, value in tensors.items()}


def check_same_size(**texts):
    """Returns the tensors `texts`, or fails with InvalidArgumentError unless all have the same number of examples."""
    (name, first), *others = texts.items()
    checks = [check(tf.shape(value)[0] == tf.shape(first)[0], f"{other} must contain as many examples as {name}")
              for other, value in others]
    return after(checks, texts).values()
