"""Losses of distillation compared with NumPy; layer maps; states and attention of student and teacher."""

import numpy as np
import pytest
import scipy.special
import tensorflow as tf

from bert_tf import losses, models
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.layers import Projection, WeightInitializer
from bert_tf.techniques.distillation import (
    STUDENT,
    TEACHER,
    DistilledModel,
    Taps,
    create_distillation_loss,
    tapped,
    taps_of,
)
from bert_tf.techniques.layer_maps import check_layers, map_layers, student_config
from tests.encoders import make_encoder

ROWS, LENGTH, WIDTH, LAYERS, HEADS, CLASSES = 5, 7, 6, 3, 2, 4
LENGTHS = (7, 3, 1, 5, 2)
RNG = np.random.default_rng(3)
CONFIG = BertConfig(30, 8, 4, 2, 12, max_position_embeddings=16, type_vocab_size=2, initializer_range=0.5)


def normal(*shape):
    return RNG.normal(size=shape).astype(np.float32)


MASK = np.array([[1] * length + [0] * (LENGTH - length) for length in LENGTHS], np.int32)
FEATURES = {"input_mask": tf.constant(MASK), "label_ids": tf.constant([0, 3, 1, 2, 2])}


def sample_outputs(**shapes):
    """Returns random outputs of a student, of a teacher, and of their DistilledModel."""
    pair = [{name: normal(*shape) for name, shape in shapes.items()} for _ in range(2)]
    return pair[0], pair[1], {STUDENT: pair[0], TEACHER: pair[1], **pair[0]}


def divergence(student, teacher, temperature=1.0):
    """Returns the sum of p * log(p / q) for the teacher's p and the student's q, times T^2."""
    p, q = (scipy.special.softmax(np.float64(logits) / temperature) for logits in (teacher, student))
    return temperature**2 * np.sum(p * np.log(p / q))


def compute_loss(name, outputs, **options):
    return float(create_distillation_loss({name: 3.0}, **options)(outputs, FEATURES)[f"{name}_loss"])


def test_logits_of_classifiers():
    student, teacher, outputs = sample_outputs(logits=(ROWS, CLASSES))
    for temperature in (1.0, 2.5):
        expected = np.mean([divergence(*pair, temperature) for pair in zip(
            student["logits"], teacher["logits"], strict=True)])
        assert compute_loss("logits", outputs, temperature=temperature) == pytest.approx(expected, rel=1e-4)


def test_logits_of_other_tasks():
    student, teacher, outputs = sample_outputs(logits=(ROWS, CLASSES))
    pairs = list(zip(student["logits"].ravel(), teacher["logits"].ravel(), strict=True))
    expected = np.mean([divergence([s, 0], [t, 0], 2.0) for s, t in pairs])
    assert compute_loss("logits", outputs, logits_loss="sigmoid", temperature=2.0) == pytest.approx(expected, rel=1e-4)
    assert compute_loss("logits", outputs, logits_loss="number") == pytest.approx(
        sum((float(s) - float(t)) ** 2 for s, t in pairs) / ROWS, rel=1e-5)
    student, teacher, outputs = sample_outputs(logits=(ROWS, LENGTH, CLASSES))
    expected = np.mean([divergence(student["logits"][row, place], teacher["logits"][row, place])
                        for row, place in np.argwhere(MASK)])
    assert compute_loss("logits", outputs, logits_loss="tokens") == pytest.approx(expected, rel=1e-4)
    student, teacher, outputs = sample_outputs(start_logits=(ROWS, LENGTH), end_logits=(ROWS, LENGTH))
    expected = np.mean([divergence(student[name][row, :length], teacher[name][row, :length], 1.5)
                        for name in student for row, length in enumerate(LENGTHS)])
    assert compute_loss("logits", outputs, logits_loss="spans", temperature=1.5) == pytest.approx(expected, rel=1e-4)


def test_hidden_states_attention_and_cls():
    student, teacher, outputs = sample_outputs(hidden=(ROWS, LAYERS, LENGTH, WIDTH), cls=(ROWS, LAYERS, WIDTH),
                                     attention=(ROWS, LAYERS, HEADS, LENGTH, LENGTH))
    hidden = attention = cls = 0.0
    for layer in range(LAYERS):
        hidden += np.mean([((student["hidden"][row, layer, place] - teacher["hidden"][row, layer, place]) ** 2).mean()
                           for row, place in np.argwhere(MASK)])
        attention += np.mean(np.concatenate([
            ((student["attention"][row, layer, :, :length, :length]
              - teacher["attention"][row, layer, :, :length, :length]) ** 2).mean(axis=0).ravel()
            for row, length in enumerate(LENGTHS)]))
        cls += np.mean([np.sum((s / np.sqrt(np.sum(s**2)) - t / np.sqrt(np.sum(t**2))) ** 2)
                        for s, t in zip(student["cls"][:, layer], teacher["cls"][:, layer], strict=True)])
    for name, expected in (("hidden", hidden), ("attention", attention), ("cls", cls)):
        assert compute_loss(name, outputs) == pytest.approx(expected, rel=1e-5), name
    student["attention"][2, :, :, 1:] = np.nan  # At padding.
    assert compute_loss("attention", {**outputs, **student}) == pytest.approx(attention, rel=1e-5)


def test_weights_of_the_total_and_partial_losses():
    _, _, outputs = sample_outputs(logits=(ROWS, CLASSES), hidden=(ROWS, LAYERS, LENGTH, WIDTH))
    weights = {"logits": 2.0, "label": 0.5, "hidden": 3.0}
    loss = create_distillation_loss(weights, losses.classification_loss)
    whole = loss(outputs, FEATURES)
    assert loss.names == ("loss", "logits_loss", "label_loss", "hidden_loss")
    assert float(whole["loss"]) == pytest.approx(sum(
        weight * float(whole[f"{name}_loss"]) for name, weight in weights.items()), rel=1e-6)
    parts = [tuple(tf.nest.map_structure(lambda value: value[rows], each) for each in (outputs, FEATURES))  # noqa: B023
             for rows in (slice(0, 2), slice(2, None))]
    together = tf.nest.map_structure(lambda *each: sum(each), *(loss.normalizers(features) for _, features in parts))
    partial = [loss.partial_losses(*part, together) for part in parts]
    for name in loss.names:
        assert float(sum(each[name] for each in partial)) == pytest.approx(float(whole[name]), rel=1e-5), name


def test_inner_losses_come_first():
    _, _, outputs = sample_outputs(logits=(ROWS, CLASSES), hidden=(ROWS, LAYERS, LENGTH, WIDTH))
    step = tf.Variable(0)
    loss = create_distillation_loss({"logits": 2.0, "hidden": 3.0}, only_inner=lambda: step < 1)
    first = loss(outputs, FEATURES)
    step.assign(1)
    second = loss(outputs, FEATURES)
    assert float(first["loss"]) == pytest.approx(3 * float(first["hidden_loss"]))
    assert float(second["loss"]) == pytest.approx(2 * float(first["logits_loss"]))


@pytest.mark.parametrize("remove_padding", [False, True])
def test_losses_are_0_if_the_student_equals_the_teacher(remove_padding):
    features = {"input_ids": tf.constant(RNG.integers(5, 30, [ROWS, LENGTH]) * MASK, tf.int32),
                "input_mask": tf.constant(MASK), "segment_ids": tf.zeros([ROWS, LENGTH], tf.int32)}
    student, teacher = (models.BertClassifier(make_encoder(
        CONFIG, remove_padding=remove_padding and number, last_where_read=number), CLASSES) for number in (0, 1))
    student_taps, teacher_taps = taps_of(("hidden", "attention", "cls"), map_layers("uniform", 4, 4))
    assert student_taps == teacher_taps == Taps((0, 1, 2, 3, 4), (0, 1, 2, 3), (1, 2, 3))

    def run_teacher(features):
        outputs, inner = tapped(teacher, features, teacher_taps)
        return {**outputs, **inner}

    outputs = DistilledModel(student, student_taps, run_teacher)(features)
    names = ("logits", "hidden", "attention", "cls")
    found = create_distillation_loss(dict.fromkeys(names, 1.0))(outputs, features)
    assert {name: float(value) for name, value in found.items()} == pytest.approx(dict.fromkeys(found, 0.0), abs=1e-7)
    np.testing.assert_allclose(outputs["logits"], student(features)["logits"], atol=1e-5)
    encoded = student.encoder.observe(features)
    bias = (1.0 - MASK[:, np.newaxis, np.newaxis]) * -1e4
    scores = outputs[STUDENT]["attention"][:, 2] + bias
    np.testing.assert_allclose(tf.nn.softmax(scores), encoded["attention"][2].probabilities, atol=1e-6)


def test_a_trained_projection_to_the_hidden_size_of_the_teacher():
    teacher, student = normal(ROWS, LAYERS + 1, LENGTH, WIDTH), models.BertTokenClassifier(CONFIG, CLASSES)
    features = {name: tf.ones([ROWS, LENGTH], tf.int32) for name in ("input_ids", "input_mask", "segment_ids")}
    projection = Projection(8, WIDTH, WeightInitializer(0.02, 1), name="projection")
    model = DistilledModel(student, Taps((0, 1, 2, 3)), lambda features: {"hidden": teacher}, projection)
    assert len(model.trainable_variables) == len(student.trainable_variables) + 2
    states = model(features)[STUDENT]["hidden"]
    _, inner = tapped(student, features, Taps((0, 1, 2, 3)))
    np.testing.assert_allclose(states, inner["hidden"].numpy() @ projection.kernel.numpy(), atol=1e-5)


def test_layer_maps():
    assert map_layers("uniform", 3, 6) == (1, 3, 5)  # TinyBERT's
    assert map_layers("uniform", 4, 12) == (2, 5, 8, 11)
    assert map_layers("uniform", 2, 5) == (2, 4)
    assert map_layers("last", 3, 6) == (3, 4, 5)
    assert map_layers((0, 0, 5), 3, 6) == (0, 0, 5)
    for kind, message in (("uniform", "`layer_map`=uniform: the student has 3 layers, the teacher only 2; name one"),
                          ((0, 2, 1), "`layer_map`=0,2,1: the teacher has no layer 2, its layers are 0 to 1"),
                          ((0,), "`layer_map`=0: names 1 layers, the student has 3")):
        with pytest.raises(InputError, match=f"^{message}"):
            map_layers(kind, 3, 2)
    with pytest.raises(InputError, match="`student_layers`=7: the teacher has no layer 7"):
        check_layers("student_layers", (7,), 6)
    assert student_config(CONFIG, (0, 3)) == BertConfig.from_dict({**CONFIG.to_dict(), "num_hidden_layers": 2})
