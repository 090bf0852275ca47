"""BERT-of-Theseus: the schedule, the computed layers, and the trained variables."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.config import BertConfig
from bert_tf.techniques.layer_maps import map_layers, student_config
from bert_tf.techniques.theseus import ReplacingRate, TheseusModel, groups
from tests.encoders import make_encoder

CONFIG = BertConfig(30, 8, 4, 2, 12, max_position_embeddings=16, type_vocab_size=2, initializer_range=0.5,
                    hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
LAYERS = (1, 2)
FEATURES = {"input_ids": tf.constant([[2, 9, 4, 8, 0], [3, 7, 0, 0, 0], [4, 5, 6, 7, 8]]),
            "input_mask": tf.constant([[1, 1, 1, 1, 0], [1, 1, 0, 0, 0], [1, 1, 1, 1, 1]]),
            "segment_ids": tf.zeros([3, 5], tf.int32)}


def make_pair(config=CONFIG, **options):
    """Returns a student with a teacher's embeddings, LAYERS, pooler, and head; and the teacher."""
    teacher = models.BertClassifier(make_encoder(config, **options), 3)
    student = models.BertClassifier(make_encoder(student_config(config, LAYERS), **options), 3)
    values = {variable.name: variable for variable in teacher.variables}
    for variable in student.variables:
        name = variable.name
        for number, layer in enumerate(LAYERS):
            name = name.replace(f"/layer_{number}/", f"/from_{layer}/")
        if "dropout_generator" not in name and "StateVar" not in name:
            variable.assign(values[name.replace("/from_", "/layer_")])
    return student, teacher


def theseus(student, teacher, rate):
    return TheseusModel(student, teacher, map_layers("uniform", 2, 4), ReplacingRate(rate, 10**9, lambda: 0, 7))


def test_the_schedule_and_the_groups():
    step = tf.Variable(0, dtype=tf.int64)
    rate = ReplacingRate(0.3, 100, lambda: step, 5)
    found = []
    for number in (0, 50, 100, 200):
        step.assign(number)
        found.append(float(rate.value()))
    np.testing.assert_allclose(found, [0.3, 0.65, 1.0, 1.0], rtol=1e-6)
    assert rate.draw(4).numpy().all()
    constant_rate, samples = ReplacingRate(0.3, 10**9, lambda: step, 5), []
    for number in (*range(300), 7):
        step.assign(number)
        samples.append(constant_rate.draw(3).numpy())
    assert np.mean(samples) == pytest.approx(0.3, abs=0.05)
    np.testing.assert_array_equal(samples[7], samples[300])  # A resumed run samples the same layers.
    assert float(ReplacingRate(0.3, 0, lambda: 0, 5).value()) == 1
    assert groups((1, 3, 5)) == (range(2), range(2, 4), range(4, 6))
    assert groups((2, 4)) == (range(3), range(3, 5))


def test_rate_0_computes_the_teacher_and_1_the_student():
    student, teacher = make_pair(layers="unpadded", last_where_read=True)
    for rate, alone in ((0.0, teacher), (1.0, student)):
        mixed = theseus(student, teacher, rate)(FEATURES, training=True)
        np.testing.assert_allclose(mixed["logits"], alone(FEATURES)["logits"], atol=1e-5)
    assert np.abs(teacher(FEATURES)["logits"] - student(FEATURES)["logits"]).max() > 1e-2
    np.testing.assert_allclose(theseus(student, teacher, 0.0)(FEATURES)["logits"], student(FEATURES)["logits"])


def test_replaced_layers_are_not_trained():
    student, teacher = make_pair()
    model = theseus(student, teacher, 0.0)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(FEATURES, training=True)["logits"][:, 0])
    variables = model.trainable_variables
    assert len(variables) == len(student.trainable_variables)
    for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
        size = 0.0 if gradient is None else float(tf.reduce_sum(tf.abs(tf.convert_to_tensor(gradient))))
        assert (size == 0) == ("/layer_" in variable.name), variable.name


@pytest.mark.extra_large
def test_layers_with_compiled_blocks_have_the_same_gradients():
    """In a graph, the gradient of a branch keeps what the blocks need; scripts compile larger models than this one."""
    def compute_gradients(layers):
        config = dataclasses.replace(CONFIG, hidden_dropout_prob=0.2)
        student, teacher = make_pair(config, layers=layers, last_where_read=True)
        model = theseus(student, teacher, 0.5)

        @tf.function
        def compute():
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(model(FEATURES, training=True)["logits"][:, 0])
            gradients = tape.gradient(loss, model.trainable_variables, unconnected_gradients="zero")
            return [tf.convert_to_tensor(each) for each in gradients]

        return compute()

    for found, expected in zip(compute_gradients("unpadded_compiled"), compute_gradients("unpadded"), strict=True):
        np.testing.assert_allclose(found, expected, atol=2e-5)
