"""Knowledge distillation: a small model, the student, learns what a large one, the teacher, answers and computes.

Losses of the answers are those of Hinton et al. 2015 ("Distilling the Knowledge in a Neural Network"); of hidden states
and attention scores those of TinyBERT (Jiao et al. 2019, section 3); of [CLS] states those of patient distillation
(Sun et al. 2019, section 3.2).

Shape legend: B batch, S sequence, H hidden, N heads, K compared layers; of multiple choice, R are the B * choices rows
that the encoder reads, of other models R = B.
"""

import dataclasses

import tensorflow as tf

from bert_tf import losses
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


class DistillationLoss:
    """The weighted sum of the losses between what a DistilledModel's student and teacher say.

    Args:
      weights: dict of name of LOSSES -> float, those that count.
      label_loss: of the task, as bert_tf.losses.in_shares takes it; needed with a weight of "label".
      logits_loss: one of LOGITS_LOSSES.
      temperature: float, by which logits are divided; the loss is multiplied by its square.
      only_inner: function without arguments that gives a bool scalar, whether the losses of INNER alone count at this
        step and the others not, or, once it is False, the others alone; None for all at once.

    A call, `normalisers` and `share` are those of bert_tf.losses. "loss" is the weighted sum, "NAME_loss" each without
    its weight.
    """

    def __init__(self, weights, label_loss=None, logits_loss="softmax", temperature=1.0, only_inner=None):
        self._weights, self._temperature, self._only_inner = weights, temperature, only_inner
        self._label_loss = losses.in_shares(label_loss) if "label" in weights else None
        self._logits_loss = LOGITS_LOSSES[logits_loss]
        self.names = ("loss", *(f"{name}_loss" for name in weights))

    def __call__(self, outputs, features):
        """The losses of a batch: dict of float32 scalars."""
        return self.share(outputs, features, self.normalisers(features))

    def normalisers(self, features):
        """As PretrainingLoss's."""
        mask = features["input_mask"]
        lengths = tf.reduce_sum(tf.cast(mask, tf.float32), axis=-1)
        found = {"examples": tf.cast(tf.shape(mask)[0], tf.float32), "rows": tf.cast(tf.size(lengths), tf.float32),
                 "tokens": tf.reduce_sum(lengths), "pairs": tf.reduce_sum(tf.square(lengths))}
        if "masked_lm_weights" in features:
            found["predictions"] = tf.reduce_sum(features["masked_lm_weights"])
        labels = self._label_loss.normalisers(features) if self._label_loss else {}
        return {**found, **{f"label_{name}": value for name, value in labels.items()}}

    def share(self, outputs, features, normalisers):
        """As PretrainingLoss's."""
        mask = tf.reshape(features["input_mask"], [-1, tf.shape(features["input_mask"])[-1]])  # [R, S]
        mask = tf.cast(mask, tf.float32)
        student, teacher = outputs[STUDENT], outputs[TEACHER]
        found = {}
        for name in self._weights:
            if name == "label":
                of_labels = {key.removeprefix("label_"): value for key, value in normalisers.items()
                             if key.startswith("label_")}
                found[name] = self._label_loss.share(outputs, features, of_labels)["loss"]
            elif name == "logits":
                found[name] = self._logits_loss(student, teacher, features, normalisers, self._temperature)
            else:
                pair = [tf.cast(each[name], tf.float32) for each in (student, teacher)]
                found[name] = INNER_LOSSES[name](*pair, mask, normalisers)
        total = tf.add_n([self._weight(name) * loss for name, loss in found.items()])
        return {"loss": total, **{f"{name}_loss": loss for name, loss in found.items()}}

    def _weight(self, name):
        if self._only_inner is None:
            return self._weights[name]
        return tf.where(self._only_inner() == (name in INNER), self._weights[name], 0.0)


def hidden_loss(student, teacher, mask, normalisers):
    """Squared difference of states float32 [R, K, S, H], mean over real tokens and width, sum over layers."""
    of_tokens = tf.reduce_mean(tf.math.squared_difference(student, teacher), axis=-1)  # [R, K, S]
    return tf.reduce_sum(of_tokens * mask[:, tf.newaxis]) / normalisers["tokens"]


def attention_loss(student, teacher, mask, normalisers):
    """Squared difference of scores float32 [R, K, N, S, S], mean over heads and pairs of tokens, sum over layers."""
    of_pairs = tf.reduce_mean(tf.math.squared_difference(student, teacher), axis=2)  # [R, K, S, S]
    real = mask[:, tf.newaxis, :, tf.newaxis] * mask[:, tf.newaxis, tf.newaxis]
    return tf.reduce_sum(tf.where(real > 0, of_pairs, 0.0)) / normalisers["pairs"]


def cls_loss(student, teacher, mask, normalisers):
    """Squared distance of normalised states float32 [R, K, H], mean over rows, sum over layers."""
    del mask
    student, teacher = (tf.math.l2_normalize(each, axis=-1, epsilon=LEAST_NORM) for each in (student, teacher))
    return tf.reduce_sum(tf.math.squared_difference(student, teacher)) / normalisers["rows"]


INNER_LOSSES = {"hidden": hidden_loss, "attention": attention_loss, "cls": cls_loss}


def soft_cross_entropy(student, teacher, temperature):
    """KL divergence of the student's softmax from the teacher's, times T^2: float32 [..., classes] -> [...]."""
    wanted = tf.nn.log_softmax(teacher / temperature)
    got = tf.nn.log_softmax(student / temperature)
    return temperature**2 * tf.reduce_sum(tf.exp(wanted) * (wanted - got), axis=-1)


def _softmax(student, teacher, features, normalisers, temperature):
    """One label or choice an example: logits [B, classes]."""
    del features
    of_examples = soft_cross_entropy(student["logits"], teacher["logits"], temperature)
    return tf.reduce_sum(of_examples) / normalisers["examples"]


def _sigmoid(student, teacher, features, normalisers, temperature):
    """Any number of labels an example: the divergences of each label's two outcomes, mean over labels."""
    del features
    pair = [tf.stack([each["logits"], tf.zeros_like(each["logits"])], axis=-1) for each in (student, teacher)]
    of_labels = soft_cross_entropy(*pair, temperature)  # [B, labels]
    return tf.reduce_sum(tf.reduce_mean(of_labels, axis=-1)) / normalisers["examples"]


def _number(student, teacher, features, normalisers, temperature):
    """A number an example: squared difference."""
    del features, temperature
    difference = tf.math.squared_difference(student["logits"], teacher["logits"])  # [B, 1]
    return tf.reduce_sum(difference) / normalisers["examples"]


def _tokens(student, teacher, features, normalisers, temperature):
    """A label a token: mean over real tokens."""
    of_tokens = soft_cross_entropy(student["logits"], teacher["logits"], temperature)  # [B, S]
    return tf.reduce_sum(of_tokens * _mask(features)) / normalisers["tokens"]


def _spans(student, teacher, features, normalisers, temperature):
    """A start and an end an example, at real tokens: mean of both."""
    padding = losses.PADDING_PENALTY * temperature * (1.0 - _mask(features))
    ends = [soft_cross_entropy(student[name] + padding, teacher[name] + padding, temperature)
            for name in ("start_logits", "end_logits")]
    return tf.reduce_sum(ends) / 2 / normalisers["examples"]


def _masked_lm(student, teacher, features, normalisers, temperature):
    """The vocabulary at masked positions: mean over real predictions, as the masked LM's own loss."""
    name = "masked_lm_logits"
    of_predictions = soft_cross_entropy(student[name], teacher[name], temperature)  # [B, P]
    total = tf.reduce_sum(of_predictions * features["masked_lm_weights"])
    return total / (normalisers["predictions"] + losses.EMPTY_BATCH_GUARD)


def _mask(features):
    return tf.cast(features["input_mask"], tf.float32)


LOGITS_LOSSES = {"softmax": _softmax, "sigmoid": _sigmoid, "number": _number, "tokens": _tokens, "spans": _spans,
                 "masked_lm": _masked_lm}

