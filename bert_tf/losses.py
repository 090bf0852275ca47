"""Training losses, float32 scalars.

A batch may come in parts: each replica has one, and divides it into micro-batches. The loss of the whole batch is a sum
over its examples or predictions, divided by a number that its features alone tell, the normaliser. So each part, given
the normalisers of the whole batch, can compute its share. The shares add up to the loss that one device would compute,
and so do their gradients. A mean of the parts' own means would not: in it a prediction counts the less, the more others
are in the same part.

Shape legend: B batch, P predictions, V vocabulary.
"""

import tensorflow as tf

EMPTY_BATCH_GUARD = 1e-5  # the original's: a batch without predictions has loss 0, not NaN
PADDING_PENALTY = -10_000.0  # added to a score, as BERT's attention does to what is not to be seen


class PretrainingLoss:
    """The masked LM loss, and the loss of a label of the whole sequence (the original's `run_pretraining.model_fn`).

    Args:
      sentence_label: BertPretrainer's: "next_sentence", another label, or None for the masked LM loss alone.

    Attributes:
      predicted: what is predicted, as the names of its loss and its metrics begin: "masked_lm" and the label, if any.
      names: of the losses that a call gives.
    """

    def __init__(self, sentence_label="next_sentence"):
        self._sentence_label = sentence_label
        self.predicted = ("masked_lm", *((sentence_label,) if sentence_label else ()))
        self.names = ("loss", *(f"{each}_loss" for each in self.predicted))

    def __call__(self, outputs, features):
        """The losses of a batch.

        Args:
          outputs: BertPretrainer's: masked_lm_logits [B, P, V], next_sentence_logits [B, 2], packed [B, K, 2].
          features: masked_lm_ids int32 [B, P]; masked_lm_weights float32 [B, P], 0 at padding predictions;
            next_sentence_labels int32 [B, 1] or [B], where 1 means a random second sentence; packed
            next_sentence_labels int32 [B, K] and next_sentence_weights float32 [B, K], 0 where there is no sequence.

        Returns:
          Dict of float32 scalars: loss, the sum of the others; masked_lm_loss (mean over real predictions);
          next_sentence_loss (mean over the sequences).
        """
        return self.share(outputs, features, self.normalisers(features))

    def normalisers(self, features):
        """What to divide by, of one part of a batch: dict of float32 scalars, which add up over the parts."""
        weights = features.get(f"{self._sentence_label}_weights")
        return {"predictions": tf.reduce_sum(features["masked_lm_weights"]),
                "examples": _num_examples(features) if weights is None else tf.reduce_sum(weights)}

    def share(self, outputs, features, normalisers):
        """What one part adds to the losses of a batch.

        Args:
          outputs, features: of the part, as a call takes them.
          normalisers: of the whole batch, the sum of those of its parts.

        Returns:
          Dict of float32 scalars as a call's; summed over the parts they are the losses of the batch.
        """
        token_losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=features["masked_lm_ids"], logits=outputs["masked_lm_logits"])  # [B, P]
        masked_lm_loss = (tf.reduce_sum(features["masked_lm_weights"] * token_losses)
                          / (normalisers["predictions"] + EMPTY_BATCH_GUARD))
        if not self._sentence_label:
            return {"loss": masked_lm_loss, "masked_lm_loss": masked_lm_loss}
        logits, labels, weights = self.sentence_scores(outputs, features)
        sentence_losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        if weights is not None:
            sentence_losses *= weights
        sentence_loss = tf.reduce_sum(sentence_losses) / normalisers["examples"]
        return {
            "loss": masked_lm_loss + sentence_loss,
            "masked_lm_loss": masked_lm_loss,
            f"{self._sentence_label}_loss": sentence_loss,
        }

    def sentence_scores(self, outputs, features):
        """Of the label of N sequences, B or B * K: logits [N, 2], labels int32 [N], weights float32 [N] or None."""
        name = self._sentence_label
        weights = features.get(f"{name}_weights")
        return (tf.reshape(outputs[f"{name}_logits"], [-1, 2]), tf.reshape(features[f"{name}_labels"], [-1]),
                None if weights is None else tf.reshape(weights, [-1]))


pretraining_loss = PretrainingLoss()


class TokenClassificationLoss:
    """Mean cross entropy over labelled tokens; tokens whose label is negative, such as padding, take no part."""

    def __call__(self, outputs, features):
        """The loss of a batch.

        Args:
          outputs: BertTokenClassifier's: logits float32 [B, S, labels].
          features: label_ids int32 [B, S].

        Returns:
          {"loss": float32 scalar}; 0 for a batch without labelled tokens.
        """
        return self.share(outputs, features, self.normalisers(features))

    def normalisers(self, features):
        """As PretrainingLoss's."""
        return {"labelled": tf.reduce_sum(_is_labelled(features)), "examples": _num_examples(features)}

    def share(self, outputs, features, normalisers):
        """As PretrainingLoss's."""
        token_losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=tf.maximum(features["label_ids"], 0), logits=outputs["logits"])  # [B, S]
        total = tf.reduce_sum(_is_labelled(features) * token_losses)
        return {"loss": tf.math.divide_no_nan(total, normalisers["labelled"])}


token_classification_loss = TokenClassificationLoss()


class MeanLoss:
    """Losses that are means over the examples, in shares.

    Args:
      loss_function: (outputs, features) -> dict of scalars, each a mean over the examples of the batch it is given.
    """

    def __init__(self, loss_function):
        self._loss_function = loss_function

    def __call__(self, outputs, features):
        """The losses of a batch."""
        return self._loss_function(outputs, features)

    def normalisers(self, features):
        """As PretrainingLoss's."""
        return {"examples": _num_examples(features)}

    def share(self, outputs, features, normalisers):
        """As PretrainingLoss's."""
        part = _num_examples(features) / normalisers["examples"]
        return {name: part * loss for name, loss in self._loss_function(outputs, features).items()}


def in_shares(loss_function):
    """A loss that has `normalisers` and `share`, as it is; any other as a MeanLoss."""
    return loss_function if hasattr(loss_function, "share") else MeanLoss(loss_function)


class PackedLoss:
    """A mean over the examples of packs: rows with K sequences each.

    Args:
      losses_of: (outputs, labels) -> losses of each example, [N] or [N, labels], as those below.
    """

    def __init__(self, losses_of):
        self._losses_of = losses_of

    def __call__(self, outputs, features):
        """As `share`, of a whole batch."""
        return self.share(outputs, features, self.normalisers(features))

    def normalisers(self, features):
        """As PretrainingLoss's."""
        return {"examples": tf.reduce_sum(features["sequence_weights"])}

    def share(self, outputs, features, normalisers):
        """As PretrainingLoss's.

        Args:
          outputs: logits float32 [B, K, labels].
          features: label_ids [B, K] or [B, K, labels]; sequence_weights float32 [B, K], 0 where there is no sequence.
          normalisers: of the whole batch.
        """
        logits, labels = (tf.reshape(values, [-1, *values.shape[2:]])
                          for values in (outputs["logits"], features["label_ids"]))
        each = self._losses_of({"logits": logits}, labels)
        each = tf.reduce_mean(tf.reshape(each, [tf.shape(logits)[0], -1]), axis=1)
        weights = tf.reshape(features["sequence_weights"], [-1])
        return {"loss": tf.reduce_sum(weights * each) / normalisers["examples"]}


def classification_loss(outputs, labels):
    """Mean cross entropy of outputs["logits"] float32 [B, classes] against labels int32 [B] -> scalar."""
    return tf.reduce_mean(classification_losses(outputs, labels))


def classification_losses(outputs, labels):
    """As `classification_loss`, of each example -> [B]."""
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=outputs["logits"])


def regression_loss(outputs, targets):
    """Mean squared error of outputs["logits"] float32 [B, 1] against targets float32 [B] -> scalar."""
    return tf.reduce_mean(regression_losses(outputs, targets))


def regression_losses(outputs, targets):
    """As `regression_loss`, of each example -> [B]."""
    return tf.math.squared_difference(outputs["logits"][:, 0], targets)


def multi_label_loss(outputs, labels):
    """Mean binary cross entropy of outputs["logits"] float32 [B, labels] against 0 or 1 int32 [B, labels]."""
    return tf.reduce_mean(multi_label_losses(outputs, labels))


def multi_label_losses(outputs, labels):
    """As `multi_label_loss`, of each label of each example -> [B, labels]."""
    return tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.cast(labels, tf.float32), logits=outputs["logits"])


def span_loss(outputs, features, ignore_padding=False):
    """Mean cross entropy of start and end over positions (the original's `run_squad.model_fn`).

    The original lets padding compete with the answer. A model that leaves padding out gives it no score of its own.

    Args:
      outputs: BertSpanLabeler's: start_logits and end_logits, float32 [B, S].
      features: start_positions and end_positions int32 [B, 1]; input_mask int32 [B, S], 0 at padding.
      ignore_padding: whether padding is no possible position.

    Returns:
      float32 scalar.
    """
    penalty = PADDING_PENALTY * tf.cast(1 - features["input_mask"], tf.float32) if ignore_padding else 0.0
    start, end = (tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=features[f"{name}_positions"][:, 0], logits=outputs[f"{name}_logits"] + penalty))
        for name in ("start", "end"))
    return (start + end) / 2


def _is_labelled(features):
    """float32 [B, S]: 1 at tokens with a label."""
    return tf.cast(features["label_ids"] >= 0, tf.float32)


def _num_examples(features):
    """B of a dict of tensors [B, ...], as a float32 scalar."""
    return tf.cast(tf.shape(next(iter(features.values())))[0], tf.float32)
