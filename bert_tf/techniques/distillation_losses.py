"""Losses of distillation, which compare predictions and hidden states of student and teacher.

The losses of predictions are from Hinton et al. 2015 ("Distilling the Knowledge in a Neural
Network"), of hidden states and attention scores from TinyBERT (Jiao et al. 2019, section 3), and of
[CLS] states from patient distillation (Sun et al. 2019, section 3.2).

Shape legend: B batch, S sequence, H hidden, N heads, CL compared layers, R rows. The
encoder reads B * choices rows for multiple choice, and B for other models.
"""

import dataclasses
import functools
import typing
from collections.abc import Callable

import tensorflow as tf

from bert_tf.layers import MASKED_SCORE
from bert_tf.losses import (
    EMPTY_BATCH_GUARD,
    Term,
    TotalLoss,
    count_examples,
    get_prediction_weights,
)

# Keys in the outputs of a DistilledModel.
STUDENT = "student"
TEACHER = "teacher"
MIN_NORM = 1e-12  # Minimum norm by which a [CLS] state is divided.


def call_with_inner(model, features, names, layers=None, training=False):
    """Calls a model of bert_tf.models, and selects its intermediate outputs.

    Args:
      model, features, training: The model, and the arguments of its call.
      names: Names of INNER to return.
      layers: CL int. 0-based layers; None for all.

    Returns:
      Dict of the model's outputs, and of those in `names`, in the compute dtype: "hidden" [R, 1 +
      CL, S, H], the embeddings first; "attention" [R, CL, N, S, S], the raw scores; and "cls" [R,
      CL - 1, H], without the last of the layers, on which the logits depend.
    """
    if not names:
        return model(features, training=training)
    outputs = dict(model(features, training=training, return_attention_scores=True))
    encoder = outputs.pop("encoder")
    layers = range(len(encoder["encoder_outputs"])) if layers is None else layers
    states = [encoder["embedding_output"], *(encoder["encoder_outputs"][layer] for layer in layers)]
    if "hidden" in names:
        outputs["hidden"] = tf.stack(states, axis=1)
    if "attention" in names:
        outputs["attention"] = tf.stack(
            [encoder["attention"][layer].scores for layer in layers], axis=1
        )
    if "cls" in names:
        outputs["cls"] = tf.stack([state[:, 0] for state in states[1:-1]], axis=1)
    return outputs


class DistilledModel:
    """A student together with its teacher's outputs, for a training step.

    Args:
      student: Model of bert_tf.models.
      names: Names of INNER to compare, in all of the student's layers.
      call_teacher: Function features -> dict of the teacher's outputs, from `call_with_inner` with
        as many layers.
      projection: Layer from the student's hidden size to the teacher's, which is trained too; None
        if they are equal.
    """

    def __init__(self, student, names, call_teacher, projection=None):
        self._student = student
        self._names = names
        self._call_teacher = call_teacher
        self._projection = projection
        self.compute_dtype = student.compute_dtype

    @property
    def trainable_variables(self):
        """Variables of the student and of the projection."""
        return [
            *self._student.trainable_variables,
            *(self._projection.trainable_variables if self._projection else ()),
        ]

    def __call__(self, features, training=False):
        """Returns the student's outputs, and as STUDENT and TEACHER the tensors to compare."""
        outputs = call_with_inner(self._student, features, self._names, training=training)
        if self._projection:
            outputs |= {
                name: self._project(outputs[name]) for name in ("hidden", "cls") if name in outputs
            }
        return {
            **outputs,
            STUDENT: outputs,
            TEACHER: tf.nest.map_structure(tf.stop_gradient, self._call_teacher(features)),
        }

    def _project(self, states):
        projected = self._projection(tf.reshape(states, [-1, states.shape[-1]]))
        return tf.reshape(
            projected, tf.concat([tf.shape(states)[:-1], [projected.shape[-1]]], axis=0)
        )


def create_distillation_loss(weights, label_loss=None, logits_loss="softmax", temperature=1.0):
    """Creates the weighted sum of the losses between student and teacher of a DistilledModel.

    Args:
      weights: Dict of name in OUTER or INNER of `layer_maps` -> float. Losses to compute, with
        their weights.
      label_loss: `bert_tf.losses.TotalLoss` of the task without factors. Required if `weights` has
        "label".
      logits_loss: Key of LOGITS_LOSSES.
      temperature: float. Logits are divided by it; the loss is multiplied by its square.

    Returns:
      `bert_tf.losses.TotalLoss` that reports NAME_loss for each of `weights`, unweighted.
    """
    logits = LOGITS_LOSSES[logits_loss]
    comparisons = {
        **INNER_LOSSES,
        "logits": logits._replace(items=functools.partial(logits.items, temperature=temperature)),
    }
    terms = []
    for name, factor in weights.items():
        of_name = label_loss.terms if name == "label" else [comparisons[name].to_term(name)]
        terms += [dataclasses.replace(term, name=f"{name}_loss", factor=factor) for term in of_name]
    return TotalLoss(*terms)


class Comparison(typing.NamedTuple):
    """A loss between the outputs of a student and of a teacher.

    Attributes:
      items: Function (student, teacher, features) -> float32, the loss of each item. The first two
        are the dicts of outputs.
      weights, num_items, guard: See `bert_tf.losses.Term`.
    """

    items: Callable
    weights: Callable | None = None
    num_items: Callable = count_examples
    guard: float = 0.0

    def to_term(self, name):
        """Returns the Term of a DistilledModel's outputs."""
        return Term(
            name,
            lambda outputs, features: self.items(outputs[STUDENT], outputs[TEACHER], features),
            self.weights,
            self.num_items,
            guard=self.guard,
        )


def soft_cross_entropy(student, teacher, temperature):
    """Computes the KL divergence of the student's softmax from the teacher's, times T^2.

    The shapes are [..., classes] before, and [...] after.
    """
    teacher_logs = tf.nn.log_softmax(teacher / temperature)
    student_logs = tf.nn.log_softmax(student / temperature)
    return temperature**2 * tf.reduce_sum(
        tf.exp(teacher_logs) * (teacher_logs - student_logs), axis=-1
    )


def _compare_hidden(student, teacher, features):
    """Returns squared differences of hidden states, averaged over H, float32 [R, CL, S]."""
    del features
    states = _to_float32(student, teacher, "hidden")
    return tf.reduce_mean(tf.math.squared_difference(*states), axis=-1)


def _compare_attention(student, teacher, features):
    """Returns squared differences of scores, averaged over heads, float32 [R, CL, S, S].

    They are 0 at padding, even for NaN.
    """
    scores = _to_float32(student, teacher, "attention")
    mask = _get_token_weights(features)
    real = mask[:, tf.newaxis, :, tf.newaxis] * mask[:, tf.newaxis, tf.newaxis]
    return tf.where(real > 0, tf.reduce_mean(tf.math.squared_difference(*scores), axis=2), 0.0)


def _compare_cls(student, teacher, features):
    """Returns squared differences of normalized [CLS] states, float32 [R, CL, H]."""
    del features
    states = _to_float32(student, teacher, "cls")
    return tf.math.squared_difference(
        *(tf.math.l2_normalize(each, axis=-1, epsilon=MIN_NORM) for each in states)
    )


def _to_float32(student, teacher, name):
    return [tf.cast(outputs[name], tf.float32) for outputs in (student, teacher)]


def _compare_classes(student, teacher, features, temperature, name="logits"):
    """Returns the divergence of each softmax, float32 without the last axis of the logits."""
    del features
    return soft_cross_entropy(student[name], teacher[name], temperature)


def _compare_labels(student, teacher, features, temperature):
    """Returns the divergences of each label's two outcomes, averaged over labels."""
    del features
    logits = [
        tf.stack([each["logits"], tf.zeros_like(each["logits"])], axis=-1)
        for each in (student, teacher)
    ]
    return tf.reduce_mean(soft_cross_entropy(*logits, temperature), axis=-1)


def _compare_numbers(student, teacher, features, temperature):
    del features, temperature
    return tf.math.squared_difference(student["logits"], teacher["logits"])


def _compare_spans(student, teacher, features, temperature):
    """Returns the divergences of start and end over the tokens, float32 [2, B]."""
    padding = MASKED_SCORE * temperature * (1.0 - _get_token_weights(features))
    return tf.stack(
        [
            soft_cross_entropy(student[name] + padding, teacher[name] + padding, temperature)
            for name in ("start_logits", "end_logits")
        ]
    )


def _get_token_weights(features):
    """Returns float32 [R, S], 0 at padding."""
    mask = tf.cast(features["input_mask"], tf.float32)
    return mask if mask.shape.rank == 2 else tf.reshape(mask, [-1, tf.shape(mask)[-1]])


def _count_pairs(features):
    """Returns the number of pairs of tokens in the same row, float32."""
    return tf.reduce_sum(tf.square(tf.reduce_sum(_get_token_weights(features), -1)))


def _count_rows(features):
    return tf.cast(tf.shape(_get_token_weights(features))[0], tf.float32)


# Kind of logits -> Comparison, whose items have another argument, the temperature.
LOGITS_LOSSES = {
    "softmax": Comparison(_compare_classes),  # one label or choice per example, [B, classes]
    "sigmoid": Comparison(_compare_labels),  # any number of labels per example, [B, classes]
    "number": Comparison(_compare_numbers),  # a number per example, [B, 1]
    # A label per token, [B, S, classes].
    "tokens": Comparison(_compare_classes, weights=_get_token_weights),
    # A start and an end per example, [B, S] each.
    "spans": Comparison(_compare_spans, num_items=lambda features: count_examples(features) * 2),
    "masked_lm": Comparison(
        functools.partial(_compare_classes, name="masked_lm_logits"),
        weights=get_prediction_weights,
        guard=EMPTY_BATCH_GUARD,
    ),
}
# One of INNER -> Comparison. All are sums over layers: of tokens, pairs of tokens in the same row,
# and rows.
INNER_LOSSES = {
    "hidden": Comparison(
        _compare_hidden,
        lambda features: _get_token_weights(features)[:, tf.newaxis],  # [R, 1, S]
    ),
    "attention": Comparison(_compare_attention, num_items=_count_pairs),
    "cls": Comparison(_compare_cls, num_items=_count_rows),
}
