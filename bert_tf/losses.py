"""Training losses, float32 scalars.

Shape legend: B batch, P predictions, V vocabulary.
"""

import tensorflow as tf

EMPTY_BATCH_GUARD = 1e-5  # the original's: a batch without predictions has loss 0, not NaN


def pretraining_loss(outputs, features):
    """The sum of the masked LM loss and the next sentence loss (the original's `run_pretraining.model_fn`).

    Args:
      outputs: BertPretrainer's: masked_lm_logits [B, P, V], next_sentence_logits [B, 2].
      features: masked_lm_ids int32 [B, P]; masked_lm_weights float32 [B, P], 0 at padding predictions;
        next_sentence_labels int32 [B, 1] or [B], where 1 means a random second sentence.

    Returns:
      Dict of float32 scalars: loss, masked_lm_loss (mean over real predictions), next_sentence_loss (mean
      over the batch).
    """
    weights = features["masked_lm_weights"]
    token_losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=features["masked_lm_ids"], logits=outputs["masked_lm_logits"])  # [B, P]
    masked_lm_loss = tf.reduce_sum(weights * token_losses) / (tf.reduce_sum(weights) + EMPTY_BATCH_GUARD)
    next_sentence_loss = classification_loss(
        {"logits": outputs["next_sentence_logits"]}, tf.reshape(features["next_sentence_labels"], [-1]))
    return {
        "loss": masked_lm_loss + next_sentence_loss,
        "masked_lm_loss": masked_lm_loss,
        "next_sentence_loss": next_sentence_loss,
    }


def classification_loss(outputs, labels):
    """Mean cross entropy of outputs["logits"] float32 [B, classes] against labels int32 [B] -> scalar."""
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=labels, logits=outputs["logits"]))


def regression_loss(outputs, targets):
    """Mean squared error of outputs["logits"] float32 [B, 1] against targets float32 [B] -> scalar."""
    return tf.reduce_mean(tf.math.squared_difference(outputs["logits"][:, 0], targets))


def multi_label_loss(outputs, labels):
    """Mean binary cross entropy of outputs["logits"] float32 [B, labels] against 0 or 1 int32 [B, labels]."""
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(
        labels=tf.cast(labels, tf.float32), logits=outputs["logits"]))
