"""Distillation: losses, hidden states, and attention, layer maps, and BERT-of-Theseus."""

import dataclasses
import operator
from typing import NamedTuple

import numpy as np
import pytest
import scipy.special
import tensorflow as tf

from bert_tf import losses, models
from bert_tf.config import BertConfig
from bert_tf.layers import Projection, WeightInitializer
from bert_tf.techniques.distillation_losses import (
    STUDENT,
    TEACHER,
    DistilledModel,
    call_with_inner,
    create_distillation_loss,
)
from bert_tf.techniques.layer_maps import map_layers, student_config
from bert_tf.techniques.theseus import TheseusModel, draw_layers
from tests.encoders import make_encoder, make_features
from tests.errors import Message, raises_message

ROWS = 5
LENGTH = 7
WIDTH = 6
LAYERS = 3
HEADS = 2
CLASSES = 4
LENGTHS = (7, 3, 1, 5, 2)
RNG = np.random.default_rng(3)
CONFIG = BertConfig(
    30, 8, 4, 2, 12, max_position_embeddings=16, type_vocab_size=2, initializer_range=0.5
)


def normal(*shape):
    return RNG.normal(size=shape).astype(np.float32)


MASK = np.array([[1] * length + [0] * (LENGTH - length) for length in LENGTHS], np.int32)
IS_TOKEN = MASK > 0
FEATURES = {"input_mask": tf.constant(MASK), "label_ids": tf.constant([0, 3, 1, 2, 2])}


class Outputs(NamedTuple):
    """Outputs of a student and of its teacher: dicts of arrays."""

    student: dict
    teacher: dict

    @property
    def joint(self):
        """The outputs of their DistilledModel."""
        return {STUDENT: self.student, TEACHER: self.teacher, **self.student}


def sample_outputs(**shapes):
    """Returns random Outputs."""
    return Outputs(
        *({name: normal(*shape) for name, shape in shapes.items()} for _ in ("student", "teacher"))
    )


def divergence(student, teacher, temperature=1.0):
    """Returns T^2 times the sums of p * log(p / q): [...] for logits of [..., C].

    p are the probabilities of the teacher, and q those of the student.
    """
    p, q = (
        scipy.special.softmax(np.float64(logits) / temperature, axis=-1)
        for logits in (teacher, student)
    )
    return temperature**2 * np.sum(p * np.log(p / q), axis=-1)


def compute_loss(name, outputs, **options):
    return float(
        create_distillation_loss({name: 3.0}, **options)(outputs, FEATURES)[f"{name}_loss"]
    )


@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_logits_of_classifiers(temperature):
    outputs = sample_outputs(logits=(ROWS, CLASSES))
    expected = divergence(outputs.student["logits"], outputs.teacher["logits"], temperature).mean()
    assert compute_loss("logits", outputs.joint, temperature=temperature) == pytest.approx(
        expected, rel=1e-4
    )


def test_logits_of_several_labels_and_of_a_regression():
    outputs = sample_outputs(logits=(ROWS, CLASSES))
    student = outputs.student["logits"]
    teacher = outputs.teacher["logits"]
    two_classes = (np.stack([logits, 0 * logits], axis=-1) for logits in (student, teacher))
    assert compute_loss(
        "logits", outputs.joint, logits_loss="sigmoid", temperature=2.0
    ) == pytest.approx(divergence(*two_classes, 2.0).mean(), rel=1e-4)
    assert compute_loss("logits", outputs.joint, logits_loss="number") == pytest.approx(
        np.sum((student - teacher) ** 2) / ROWS, rel=1e-5
    )


def test_logits_of_tokens():
    outputs = sample_outputs(logits=(ROWS, LENGTH, CLASSES))
    logits = (each["logits"][IS_TOKEN] for each in (outputs.student, outputs.teacher))
    assert compute_loss("logits", outputs.joint, logits_loss="tokens") == pytest.approx(
        divergence(*logits).mean(), rel=1e-4
    )


def test_logits_of_spans():
    outputs = sample_outputs(start_logits=(ROWS, LENGTH), end_logits=(ROWS, LENGTH))
    expected = np.mean(
        [
            divergence(
                outputs.student[name][row, :length], outputs.teacher[name][row, :length], 1.5
            )
            for name in outputs.student
            for row, length in enumerate(LENGTHS)
        ]
    )
    assert compute_loss(
        "logits", outputs.joint, logits_loss="spans", temperature=1.5
    ) == pytest.approx(expected, rel=1e-4)


def test_hidden_states_attention_and_cls():
    """Means over tokens, or pairs of tokens and heads, and sums over layers."""
    student, teacher = outputs = sample_outputs(
        hidden=(LAYERS, ROWS, LENGTH, WIDTH),
        cls=(LAYERS, ROWS, WIDTH),
        attention=(LAYERS, ROWS, LENGTH, LENGTH, HEADS),
    )
    squares = {name: (student[name] - teacher[name]) ** 2 for name in student}
    is_pair = IS_TOKEN[:, np.newaxis] & IS_TOKEN[:, :, np.newaxis]
    units = [
        each["cls"] / np.linalg.norm(each["cls"], axis=-1, keepdims=True)
        for each in (student, teacher)
    ]
    expected = {
        "hidden": squares["hidden"][:, IS_TOKEN].mean(axis=(1, 2)).sum(),
        "attention": squares["attention"][:, is_pair].mean(axis=(1, 2)).sum(),
        "cls": ((units[0] - units[1]) ** 2).sum(axis=2).mean(axis=1).sum(),
    }
    student["attention"][:, 2, 1:] = np.nan  # At padding.
    for each in outputs:
        each["hidden"] = each["hidden"].swapaxes(0, 1)
        each["cls"] = each["cls"].swapaxes(0, 1)
        each["attention"] = each["attention"].transpose([1, 0, 4, 2, 3])
    for name, value in expected.items():
        assert compute_loss(name, outputs.joint) == pytest.approx(value, rel=1e-5), name


def test_weights_of_the_total_and_partial_losses():
    outputs = sample_outputs(logits=(ROWS, CLASSES), hidden=(ROWS, LAYERS, LENGTH, WIDTH)).joint
    weights = {"logits": 2.0, "label": 0.5, "hidden": 3.0}
    loss = create_distillation_loss(weights, losses.classification_loss)
    complete = loss(outputs, FEATURES)
    assert loss.names == ("loss", "logits_loss", "label_loss", "hidden_loss")
    assert float(complete["loss"]) == pytest.approx(
        sum(weight * float(complete[f"{name}_loss"]) for name, weight in weights.items()), rel=1e-6
    )
    normalizers = loss.normalizers(FEATURES)
    partial = [
        loss.partial_losses(
            *tf.nest.map_structure(operator.itemgetter(rows), (outputs, FEATURES)), normalizers
        )
        for rows in (slice(0, 2), slice(2, None))
    ]
    for name in loss.names:
        assert float(sum(each[name] for each in partial)) == pytest.approx(
            float(complete[name]), rel=1e-5
        ), name


@pytest.mark.parametrize("removes_padding", [False, True])
def test_losses_are_0_if_the_student_equals_the_teacher(removes_padding):
    features = make_features(CONFIG, LENGTHS)
    student, teacher = (
        models.BertClassifier(
            make_encoder(
                CONFIG,
                remove_padding=removes_padding and is_teacher,
                last_where_read=is_teacher,
            ),
            CLASSES,
        )
        for is_teacher in (False, True)
    )
    names = ("hidden", "attention", "cls")
    outputs = DistilledModel(
        student, names, lambda features: call_with_inner(teacher, features, names)
    )(features)
    assert [outputs[name].shape[1] for name in names] == [5, 4, 3]
    found = create_distillation_loss(dict.fromkeys(("logits", *names), 1.0))(outputs, features)
    assert {name: float(value) for name, value in found.items()} == pytest.approx(
        dict.fromkeys(found, 0.0), abs=1e-7
    )
    np.testing.assert_allclose(outputs["logits"], student(features)["logits"], atol=1e-5)
    all_outputs = student.encoder(features, return_attention_scores=True)
    bias = (1.0 - MASK[:, np.newaxis, np.newaxis]) * -1e4
    scores = outputs[STUDENT]["attention"][:, 2] + bias
    np.testing.assert_allclose(
        tf.nn.softmax(scores), all_outputs["attention"][2].probabilities, atol=1e-6
    )


def test_a_trained_projection_to_the_hidden_size_of_the_teacher():
    teacher = normal(ROWS, LAYERS + 1, LENGTH, WIDTH)
    student = models.BertTokenClassifier(CONFIG, CLASSES)
    features = {
        name: tf.ones([ROWS, LENGTH], tf.int32)
        for name in ("input_ids", "input_mask", "segment_ids")
    }
    projection = Projection(8, WIDTH, WeightInitializer(0.02, 1), name="projection")
    model = DistilledModel(student, ["hidden"], lambda features: {"hidden": teacher}, projection)
    assert len(model.trainable_variables) == len(student.trainable_variables) + 2
    states = model(features)[STUDENT]["hidden"]
    inner = call_with_inner(student, features, ["hidden"])["hidden"].numpy()
    selected = call_with_inner(student, features, ["hidden"], (0, 2))["hidden"]
    np.testing.assert_array_equal(selected, inner[:, [0, 1, 3]])
    np.testing.assert_allclose(states, inner @ projection.kernel.numpy(), atol=1e-5)


def test_layer_maps():
    assert map_layers("uniform", 3, 6) == (1, 3, 5)  # TinyBERT's
    assert map_layers("uniform", 4, 12) == (2, 5, 8, 11)
    assert map_layers("uniform", 2, 5) == (2, 4)
    assert map_layers("last", 3, 6) == (3, 4, 5)
    assert map_layers((0, 0, 5), 3, 6) == (0, 0, 5)
    for layer_map, message in (
        (
            "uniform",
            Message(
                "layer_map",
                "the student has 3 layers",
                "teacher only 2; list one ",
                value="uniform",
            ),
        ),
        (
            (0, 2, 1),
            Message(
                "layer_map",
                "layer 2 does not exist",
                value="0,2,1",
                end="teacher has layers 0 to 1",
            ),
        ),
        ((0,), Message("layer_map", "lists 1 layers", "student has 3", value=0)),
    ):
        with raises_message(message):
            map_layers(layer_map, 3, 2)
    assert student_config(CONFIG, (0, 3)) == BertConfig.from_dict(
        {**CONFIG.to_dict(), "num_hidden_layers": 2}
    )


THESEUS_LAYERS = (1, 2)
TEXTS = make_features(CONFIG, (4, 2, 5))


def make_pair(**options):
    """Returns a student and its teacher.

    The student has the embeddings, THESEUS_LAYERS, pooler, and head of the teacher.
    """
    config = dataclasses.replace(CONFIG, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    teacher = models.BertClassifier(make_encoder(config, **options), 3)
    student = models.BertClassifier(
        make_encoder(student_config(config, THESEUS_LAYERS), **options), 3
    )
    values = {variable.name: variable for variable in teacher.variables}
    for variable in student.variables:
        name = variable.name
        for number, layer in enumerate(THESEUS_LAYERS):
            name = name.replace(f"/layer_{number}/", f"/from_{layer}/")
        if "dropout_generator" not in name and "StateVar" not in name:
            variable.assign(values[name.replace("/from_", "/layer_")])
    return student, teacher


def theseus(student, teacher, rate):
    return TheseusModel(
        student, teacher, lambda num_layers: draw_layers(num_layers, rate, 10**9, 0, 7)
    )


def test_the_probability_of_a_layer():
    for step, probability in ((0, 0.3), (50, 0.65), (100, 1.0), (200, 1.0)):
        samples = draw_layers(1000, 0.3, 100, step, 5)
        assert np.mean(samples) == pytest.approx(probability, abs=0.05 if probability < 1 else 0)
        np.testing.assert_array_equal(samples, draw_layers(1000, 0.3, 100, step, 5))
    assert np.any(draw_layers(1000, 0.3, 100, 0, 5) != draw_layers(1000, 0.3, 10**9, 1, 5))


def test_rate_0_computes_the_teacher_and_1_the_student():
    student, teacher = make_pair(remove_padding=True, last_where_read=True)
    for rate, alone in ((0.0, teacher), (1.0, student)):
        mixed = theseus(student, teacher, rate)(TEXTS, training=True)
        np.testing.assert_allclose(mixed["logits"], alone(TEXTS)["logits"], atol=1e-5)
    assert np.abs(teacher(TEXTS)["logits"] - student(TEXTS)["logits"]).max() > 1e-2
    np.testing.assert_allclose(
        theseus(student, teacher, 0.0)(TEXTS)["logits"], student(TEXTS)["logits"]
    )


def test_replaced_layers_are_not_trained():
    student, teacher = make_pair()
    model = theseus(student, teacher, 0.0)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(TEXTS, training=True)["logits"][:, 0])
    variables = model.trainable_variables
    assert len(variables) == len(student.trainable_variables)
    for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
        is_trained = gradient is not None and np.any(tf.convert_to_tensor(gradient))
        assert is_trained != ("/layer_" in variable.name), variable.name
