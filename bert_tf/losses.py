"""Training losses, float32 scalars.

A batch can come in parts: each replica has one and splits it into micro-batches. The loss of a
batch is a sum over its items, such as examples or predictions, divided by a normalizer, which
depends only on the features. Given the normalizers of the whole batch, each part can compute its
partial loss. The partial losses, and their gradients, add up to those of a single device. A mean of
the means of the parts would not: items of larger parts would count less.

Shape legend: B batch, S sequence, K sequences of a packed row, P positions, V vocabulary.
"""

import dataclasses
import functools
from collections.abc import Callable

import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.layers import MASKED_SCORE
from bert_tf.saved_objects import register

EMPTY_BATCH_GUARD = 1e-5  # As in the original: a batch without predictions has loss 0, not NaN.
TINY_GUARD = 1e-20  # Does the same without changing a bit of a normalizer of 1 or more.
TOTAL = "loss"


def count_examples(features):
    """Returns the number of examples in a part of a batch, packed or not, a float32 scalar."""
    packed = features.get("sequence_weights")
    if packed is None:
        return tf.cast(tf.shape(next(iter(features.values())))[0], tf.float32)
    return tf.reduce_sum(packed)


@dataclasses.dataclass(frozen=True)
class Term:
    """A weighted mean over the items of a batch: sum(items * weights) / (sum(weights) + guard).

    Without weights, it is sum(items) / (num_items + guard), which has the bits of `tf.reduce_mean`
    if the guard is 0.

    Attributes:
      name: str. Name of the reported loss. Terms with the same name add up and must have the same
        factor. A term named "loss" is reported only as part of the total.
      items: Function (outputs, features) -> float32, the loss of each item.
      weights: Function features -> float32, the weight of each item, or None if all that are not 0
        count equally. It has the shape of the items, or axes of size 1, over which the loss is a
        sum. None for a function that always returns None.
      num_items: Function features -> float32 scalar, the number of items without weights; by
        default, one per example.
      factor: float. Weight of the reported loss in the total; 0 to report it only.
      guard: float. Added to the normalizer, so that a batch without items has loss 0.
    """

    name: str
    items: Callable
    weights: Callable | None = None
    num_items: Callable = count_examples
    factor: float = 1.0
    guard: float = 0.0

    def compute_weights(self, features):
        """Returns the weights of the items of a part of a batch, or None if they are equal."""
        return self.weights and self.weights(features)


@register
class TotalLoss:
    """The weighted sum of terms, which can be computed part by part.

    Args:
      *terms: `Term`s.
      source: List of a key of SOURCES and arguments, which create the same loss, so that Keras can
        save it.

    Attributes:
      terms: Tuple of `Term`.
      names: Tuple of str. Names of the losses that a call returns: "loss", the total to minimize,
        then those of the terms.
    """

    def __init__(self, *terms, source=()):
        self.terms = terms
        self._source = list(source)
        self._factors = {term.name: term.factor for term in terms}
        self.names = (TOTAL, *(name for name in self._factors if name != TOTAL))

    def get_config(self):
        """Returns the source, for Keras; raises InputError without one."""
        if not self._source:
            raise InputError("only the losses of bert_tf.losses can be saved")
        return {"source": self._source}

    @classmethod
    def from_config(cls, config):
        """Creates a loss from what `get_config` returned."""
        name, *arguments = config["source"]
        return SOURCES[name](*arguments)

    def __call__(self, outputs, features):
        """Computes the losses of a whole batch; see `partial_losses`."""
        if tf.is_tensor(outputs) and tf.is_tensor(features):  # as Keras calls a loss
            raise InputError(
                "a loss of bert_tf.losses reads all outputs and features; use it as the only "
                "`loss` in `compile` of a model of bert_tf.models"
            )
        return self.partial_losses(outputs, features, self.normalizers(features))

    def normalizers(self, features):
        """Returns the divisors of the terms for one part of a batch, a list of float32 scalars.

        The sums over the parts are the divisors for the batch.
        """
        divisors = []
        for term in self.terms:
            weights = term.compute_weights(features)
            is_equal = weights is None
            divisors.append(term.num_items(features) if is_equal else tf.reduce_sum(weights))
        return divisors

    def partial_losses(self, outputs, features, normalizers):
        """Computes the contribution of one part of a batch to its losses.

        Args:
          outputs: Dict of tensors. Outputs of the model for the part.
          features: Dict of tensors [B, ...] of the part.
          normalizers: List of float32 scalars. Normalizers of the whole batch, which are sums over
            its parts.

        Returns:
          Dict of name -> float32 scalar. Summed over the parts, these are the losses of the batch.
        """
        losses_by_name = {name: [] for name in self._factors}
        for term, divisor in zip(self.terms, normalizers, strict=True):
            items = term.items(outputs, features)
            weights = term.compute_weights(features)
            total = tf.reduce_sum(items if weights is None else items * weights)
            losses_by_name[term.name].append(
                total / (divisor + term.guard if term.guard else divisor)
            )
        losses = {name: tf.add_n(partial) for name, partial in losses_by_name.items()}
        weighted = [
            losses[name] if factor == 1 else factor * losses[name]
            for name, factor in self._factors.items()
            if factor != 0
        ]
        return {**losses, TOTAL: tf.add_n(weighted)}


def create_pretraining_loss(sentence_label="next_sentence", token_loss="masked_lm"):
    """Creates the masked LM loss plus the loss of a label of the sequence.

    This is the loss of the original's `run_pretraining.model_fn`.

    The loss reads the outputs of a BertPretrainer: masked_lm_logits [B, P, V] and
    next_sentence_logits [B, 2], packed [B, K, 2]. Its features are masked_lm_ids int32 [B, P];
    masked_lm_weights float32 [B, P], 0 for padding predictions; next_sentence_labels int32 [B, 1]
    or [B], 1 for a random second sentence. Packed rows have next_sentence_labels int32 [B, K] and
    next_sentence_weights float32 [B, K], 0 for missing sequences.

    Args:
      sentence_label: str. See BertPretrainer; None for only the masked LM loss.
      token_loss: str. Name prefix of the masked LM loss; "next_token" if each token predicts the
        next one.

    Returns:
      `TotalLoss` with the names "loss", "masked_lm_loss" (mean over non-padding predictions) and,
      if there is a label, "next_sentence_loss" (mean over the sequences).
    """
    terms = [
        Term(
            f"{token_loss}_loss", _masked_lm_items, get_prediction_weights, guard=EMPTY_BATCH_GUARD
        )
    ]
    if sentence_label:
        items = functools.partial(_sentence_items, sentence_label)
        weights = functools.partial(get_sentence_weights, sentence_label)
        terms.append(Term(f"{sentence_label}_loss", items, weights))
    return TotalLoss(*terms, source=("pretraining", sentence_label, token_loss))


def _sentence_items(name, outputs, features):
    logits, labels = sentence_scores(name, outputs, features)
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)


def sentence_scores(name, outputs, features):
    """Returns the logits [n, 2] and the labels int32 [n] of n sequences, B or B * K."""
    return tf.reshape(outputs[f"{name}_logits"], [-1, 2]), tf.reshape(
        features[f"{name}_labels"], [-1]
    )


def get_sentence_weights(name, features):
    """Returns the weights of packed sequences, float32 [n], 0 for missing ones; otherwise None."""
    weights = features.get(f"{name}_weights")
    return None if weights is None else tf.reshape(weights, [-1])


def get_prediction_weights(features):
    """Returns masked_lm_weights: 1 for predictions, 0 for padding predictions."""
    return features["masked_lm_weights"]


def _masked_lm_items(outputs, features):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=features["masked_lm_ids"], logits=outputs["masked_lm_logits"]
    )  # [B, P]


def create_span_loss(only_tokens=False):
    """Creates the mean cross entropy of start and end over positions.

    This is the loss of the original's `run_squad.model_fn`.

    In the original, padding competes with the answer, although a model that skips padding computes
    no scores for it.

    The loss reads the outputs of a BertSpanLabeler, start_logits and end_logits, float32 [B, S],
    and the features start_positions and end_positions int32 [B, 1], and input_mask int32 [B, S], 0
    at padding.

    Args:
      only_tokens: bool. Whether the softmax is over tokens only, without padding.
    """
    # An example has two items, one in each term.
    return TotalLoss(
        *(
            Term(
                TOTAL,
                functools.partial(_position_items, name, only_tokens),
                num_items=lambda features: count_examples(features) * 2,
            )
            for name in ("start", "end")
        ),
        source=("span", only_tokens),
    )


def _position_items(name, only_tokens, outputs, features):
    logits = outputs[f"{name}_logits"]
    if only_tokens:
        logits += MASKED_SCORE * tf.cast(1 - features["input_mask"], tf.float32)
    return tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=features[f"{name}_positions"][:, 0], logits=logits
    )


def _cross_entropies(outputs, features):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=features["label_ids"], logits=outputs["logits"]
    )


def _squared_differences(outputs, features):
    return tf.math.squared_difference(outputs["logits"][..., 0], features["label_ids"])


def _label_entropies(outputs, features):
    """Returns float32 [B, labels]; for packed rows, means over the labels, [B, K]."""
    items = tf.nn.sigmoid_cross_entropy_with_logits(
        labels=tf.cast(features["label_ids"], tf.float32), logits=outputs["logits"]
    )
    return tf.reduce_mean(items, axis=-1) if "sequence_weights" in features else items


def _token_entropies(outputs, features):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=tf.maximum(features["label_ids"], 0), logits=outputs["logits"]
    )  # [B, S]


def _get_sequence_weights(features):
    """Returns float32 [B, K] for packed rows, 0 for missing sequences; otherwise None."""
    return features.get("sequence_weights")


def _count_labels(features):
    num_labels = features["label_ids"].shape[-1]
    num_examples = count_examples(features)
    return num_examples if num_labels == 1 else num_examples * num_labels


def _get_token_weights(features):
    return tf.cast(features["label_ids"] >= 0, tf.float32)


pretraining_loss = create_pretraining_loss()

# The next three are means over examples. They read logits float32 [B, ...] and label_ids [B, ...].
# Packed rows have [B, K, ...] and sequence_weights float32 [B, K], 0 for missing sequences.

# Cross entropy of logits [B, classes] against int32 [B].
classification_loss = TotalLoss(
    Term(TOTAL, _cross_entropies, _get_sequence_weights), source=["classification"]
)


def create_weighted_classification_loss(class_weights):
    """Creates the cross entropy of logits [B, classes], with a weight for each class.

    It is a mean over the examples.

    Args:
      class_weights: List of float, one per class.
    """

    def weighted(outputs, features):
        return _cross_entropies(outputs, features) * tf.gather(
            tf.constant(class_weights), features["label_ids"]
        )

    return TotalLoss(
        Term(TOTAL, weighted, _get_sequence_weights),
        source=["weighted_classification", list(class_weights)],
    )


# Squared difference of logits [B, 1] from float32 [B].
regression_loss = TotalLoss(
    Term(TOTAL, _squared_differences, _get_sequence_weights), source=["regression"]
)
# Binary cross entropy of logits [B, labels] against 0 or 1, int32 [B, labels]; mean over labels
# too.
multi_label_loss = TotalLoss(
    Term(TOTAL, _label_entropies, _get_sequence_weights, _count_labels), source=["multi_label"]
)
# Cross entropy of logits [B, S, labels] against int32 [B, S]; mean over labeled tokens. Tokens with
# a negative label, such as padding, do not count. A batch without labeled tokens has loss 0.
token_classification_loss = TotalLoss(
    Term(TOTAL, _token_entropies, _get_token_weights, guard=TINY_GUARD),
    source=["token_classification"],
)

# Functions that create the losses, by the names in files of Keras.
SOURCES = {
    "pretraining": create_pretraining_loss,
    "span": create_span_loss,
    "classification": lambda: classification_loss,
    "weighted_classification": create_weighted_classification_loss,
    "regression": lambda: regression_loss,
    "multi_label": lambda: multi_label_loss,
    "token_classification": lambda: token_classification_loss,
}
