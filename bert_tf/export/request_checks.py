"""The features of a request: padding cut off, a client's own checked.

Legend: B texts, S sequence.
"""

import tensorflow as tf


def without_padding(features):
    """Cuts the columns of int [B, S] features that are padding in every row, but for one."""
    mask = features["input_mask"]
    used = tf.reduce_any(mask > 0, axis=0)
    longest = tf.maximum(tf.reduce_max(tf.where(used, tf.range(1, tf.size(used) + 1), 0)), 1)
    return {name: value[:, :longest] for name, value in features.items()}


def check_features(features, config):
    """Checks features int32 [B, S] that a client made; returns them, or fails with InvalidArgumentError.

    A tensor of another shape than the others, a sequence over max_position_embeddings, and an id out of range would
    otherwise end in errors that explain nothing or, on some devices, in wrong answers.
    """
    ids = features["input_ids"]
    limits = {"input_ids": config.vocab_size, "input_mask": 2, "segment_ids": config.type_vocab_size}
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
    """An operation that fails with InvalidArgumentError and a message unless all of a bool tensor is True.

    tf.debugging's assertions make a conditional and two functions each, half of what "ids" and "tf_example" consisted
    of.
    """
    return tf.raw_ops.Assert(condition=tf.reduce_all(condition), data=[message])


def after(checks, tensors):
    """The dict `tensors`, to be used once the assertions `checks` have passed; eager ones, None, have."""
    with tf.control_dependencies([check for check in checks if check is not None]):
        return {name: tf.identity(value) for name, value in tensors.items()}


def check_same_size(**texts):
    """The tensors `texts`, or InvalidArgumentError unless all hold the same number of examples."""
    (name, first), *others = texts.items()
    checks = [check(tf.shape(value)[0] == tf.shape(first)[0], f"{other} must hold as many examples as {name}")
              for other, value in others]
    return after(checks, texts).values()
