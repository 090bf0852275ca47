"""Knowledge distillation: a small model, the student, learns what a large one, the teacher, answers and computes.

Losses of the answers are those of Hinton et al. 2015 ("Distilling the Knowledge in a Neural Network"); of hidden states
and attention scores those of TinyBERT (Jiao et al. 2019, section 3); of [CLS] states those of patient distillation
(Sun et al. 2019, section 3.2).

Shape legend: B batch, S sequence, H hidden, N heads, K compared layers; of multiple choice, R are the B * choices rows
that the encoder reads, of other models R = B.
"""

import dataclasses

import tensorflow as tf

from bert_tf.losses import EMPTY_BATCH_GUARD, PADDING_PENALTY, Term, TotalLoss, count_predictions
from bert_tf.techniques.layer_maps import INNER, OUTER

LOSSES = (*OUTER, *INNER)
STUDENT, TEACHER = "student", "teacher"  # in the outputs of a DistilledModel
LEAST_NORM = 1e-12  # of a [CLS] state that is divided by its norm


@dataclasses.dataclass(frozen=True)
class Taps:
    """What is taken from the inside of a model.

    Attributes:
      hidden: states to take at all tokens; 0 is the embeddings, n the output of layer n - 1.
      attention: layers, from 0, of which to take the raw attention scores.
      cls: states to take at [CLS], as `hidden`.
    """

    hidden: tuple[int, ...] = ()
    attention: tuple[int, ...] = ()
    cls: tuple[int, ...] = ()

    def __bool__(self):
        return bool(self.hidden or self.attention or self.cls)


def taps_of(names, layer_map):
    """The Taps of the student and of the teacher.

    Args:
      names: those of INNER that are compared.
      layer_map: of `map_layers`. Embeddings are compared with embeddings; the [CLS] states of all layers but the last,
        on which the logits depend.
    """
    def make(layers):
        states = tuple(layer + 1 for layer in layers)
        taken = {"hidden": (0, *states), "attention": tuple(layers), "cls": states[:-1]}
        return Taps(**{name: taken[name] for name in names})

    return make(range(len(layer_map))), make(layer_map)


def tapped(model, features, taps, training=False):
    """A call of a model of bert_tf.models, and what it computed on the way.

    Returns:
      Its outputs, and dict of "hidden" [R, K, S, H], "attention" [R, K, N, S, S] and "cls" [R, K, H], as far as `taps`
      names any, in the compute dtype.
    """
    if not taps:
        return model(features, training=training), {}
    outputs, encoded = model.observe(features, training=training)
    states, inner = [encoded["embedding_output"], *encoded["encoder_outputs"]], {}
    if taps.hidden:
        inner["hidden"] = tf.stack([states[number] for number in taps.hidden], axis=1)
    if taps.attention:
        inner["attention"] = tf.stack([encoded["attention"][number].scores for number in taps.attention], axis=1)
    if taps.cls:
        inner["cls"] = tf.stack([states[number][:, 0] for number in taps.cls], axis=1)
    return outputs, inner


class DistilledModel:
    """A student beside what its teacher answers: what a training step runs.

    Args:
      student: model of bert_tf.models.
      taps: Taps of it.
      answers: features -> what `tapped` gives of the teacher, in one dict, and its taps those that correspond.
      projection: layer from the width of the student's states to that of the teacher's, trained along; None where they
        have the same.
    """

    def __init__(self, student, taps, answers, projection=None):
        self._student, self._taps, self._answers, self._projection = student, taps, answers, projection
        self.compute_dtype = student.compute_dtype

    @property
    def trainable_variables(self):
        """The student's and the projection's."""
        return [*self._student.trainable_variables,
                *(self._projection.trainable_variables if self._projection else ())]

    def __call__(self, features, training=False):
        """The student's outputs, beside which STUDENT and TEACHER have the dicts of what is compared."""
        outputs, inner = tapped(self._student, features, self._taps, training)
        if self._projection:
            inner |= {name: self._project(inner[name]) for name in ("hidden", "cls") if name in inner}
        return {**outputs, STUDENT: {**outputs, **inner},
                TEACHER: tf.nest.map_structure(tf.stop_gradient, self._answers(features))}

    def _project(self, states):
        projected = self._projection(tf.reshape(states, [-1, states.shape[-1]]))
        return tf.reshape(projected, tf.concat([tf.shape(states)[:-1], [projected.shape[-1]]], axis=0))


def create_distillation_loss(weights, label_loss=None, logits_loss="softmax", temperature=1.0, only_inner=None):
    """Creates the weighted sum of the losses between the student and the teacher of a DistilledModel.

    Args:
      weights: Dict of name of LOSSES -> float, the losses to compute.
      label_loss: `bert_tf.losses.TotalLoss` of the task without factors. Required with a weight of "label".
      logits_loss: Key of LOGITS_LOSSES.
      temperature: float, by which logits are divided; the loss is multiplied by its square.
      only_inner: Function () -> bool scalar. If True, only the losses of INNER count at this step; if False, only the
        others. None for all at once.

    Returns:
      `bert_tf.losses.TotalLoss` that reports NAME_loss for each of `weights`, without its weight.
    """
    def weigh(name):
        if only_inner is None:
            return weights[name]
        return lambda: tf.where(only_inner() == (name in INNER), weights[name], 0.0)

    def terms(name):
        if name == "label":
            return label_loss.terms
        items, *counts = LOGITS_LOSSES[logits_loss] if name == "logits" else INNER_LOSSES[name]
        return [Term(name, lambda outputs, features: items(
            outputs[STUDENT], outputs[TEACHER], features, temperature), *counts)]

    found = []
    for name in weights:
        factor = weigh(name)
        found += [dataclasses.replace(term, name=f"{name}_loss", factor=factor) for term in terms(name)]
    return TotalLoss(*found)


def soft_cross_entropy(student, teacher, temperature):
    """KL divergence of the student's softmax from the teacher's, times T^2: float32 [..., classes] -> [...]."""
    wanted = tf.nn.log_softmax(teacher / temperature)
    got = tf.nn.log_softmax(student / temperature)
    return temperature**2 * tf.reduce_sum(tf.exp(wanted) * (wanted - got), axis=-1)


# The items of losses: (dicts of the student's and the teacher's outputs, features, temperature) -> float32.


def _hidden(student, teacher, features, temperature):
    """Squared difference of states [R, K, S, H], mean over width."""
    del features, temperature
    return tf.reduce_mean(_squared_difference("hidden", student, teacher), axis=-1)  # [R, K, S]


def _attention(student, teacher, features, temperature):
    """Squared difference of scores [R, K, N, S, S], mean over heads; 0 where a position is padding, whatever it has."""
    del temperature
    of_pairs = tf.reduce_mean(_squared_difference("attention", student, teacher), axis=2)  # [R, K, S, S]
    mask = _count_tokens(features)
    real = mask[:, tf.newaxis, :, tf.newaxis] * mask[:, tf.newaxis, tf.newaxis]
    return tf.where(real > 0, of_pairs, 0.0)


def _cls(student, teacher, features, temperature):
    """Squared difference of normalized states [R, K, H]."""
    del features, temperature
    pair = (tf.math.l2_normalize(tf.cast(each["cls"], tf.float32), axis=-1, epsilon=LEAST_NORM)
            for each in (student, teacher))
    return tf.math.squared_difference(*pair)


def _softmax(student, teacher, features, temperature):
    """One label or choice per example: logits [B, classes]."""
    del features
    return soft_cross_entropy(student["logits"], teacher["logits"], temperature)


def _sigmoid(student, teacher, features, temperature):
    """Any number of labels per example: the divergences of each label's two outcomes, mean over labels."""
    del features
    pair = [tf.stack([each["logits"], tf.zeros_like(each["logits"])], axis=-1) for each in (student, teacher)]
    return tf.reduce_mean(soft_cross_entropy(*pair, temperature), axis=-1)


def _number(student, teacher, features, temperature):
    """A number per example: squared difference [B, 1]."""
    del features, temperature
    return tf.math.squared_difference(student["logits"], teacher["logits"])


def _spans(student, teacher, features, temperature):
    """A start and an end per example, at non-padding tokens: [2, B]."""
    padding = PADDING_PENALTY * temperature * (1.0 - _count_tokens(features))
    return tf.stack([soft_cross_entropy(student[name] + padding, teacher[name] + padding, temperature)
                     for name in ("start_logits", "end_logits")])


def _masked_lm(student, teacher, features, temperature):
    """The vocabulary at masked positions: [B, P]."""
    del features
    return soft_cross_entropy(student["masked_lm_logits"], teacher["masked_lm_logits"], temperature)


def _squared_difference(name, student, teacher):
    return tf.math.squared_difference(*(tf.cast(each[name], tf.float32) for each in (student, teacher)))


def _count_tokens(features):
    """float32 [R, S], 0 at padding."""
    mask = tf.cast(features["input_mask"], tf.float32)
    return mask if mask.shape.rank == 2 else tf.reshape(mask, [-1, tf.shape(mask)[-1]])


def _count_tokens_of_layers(features):
    return _count_tokens(features)[:, tf.newaxis]  # [R, 1, S]


def _count_pairs(features):
    """float32 scalar, pairs of tokens of a row."""
    return tf.reduce_sum(tf.square(tf.reduce_sum(_count_tokens(features), axis=-1)))


def _count_rows(features):
    """float32 scalar, R."""
    return tf.cast(tf.shape(_count_tokens(features))[0], tf.float32)


# The items of each loss, their counts, and a guard; see `Term`. All of INNER_LOSSES are sums over layers.
INNER_LOSSES = {"hidden": (_hidden, _count_tokens_of_layers), "attention": (_attention, _count_pairs),
                "cls": (_cls, _count_rows)}
LOGITS_LOSSES = {"softmax": (_softmax, 1), "sigmoid": (_sigmoid, 1), "number": (_number, 1),
                 "tokens": (_softmax, _count_tokens), "spans": (_spans, 2),
                 "masked_lm": (_masked_lm, count_predictions, 1.0, EMPTY_BATCH_GUARD)}
