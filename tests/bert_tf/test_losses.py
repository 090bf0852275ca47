import numpy as np
import pytest
import tensorflow as tf

from bert_tf import losses


def test_masked_lm_loss_is_the_mean_over_real_predictions():
    logits = np.log([[[0.5, 0.25, 0.25], [0.2, 0.2, 0.6]], [[0.1, 0.8, 0.1], [0.9, 0.05, 0.05]]]).astype("f")
    outputs = {"masked_lm_logits": tf.constant(logits), "next_sentence_logits": tf.math.log([[0.75, 0.25]] * 2)}
    features = {"masked_lm_ids": tf.constant([[0, 2], [1, 0]]),
                "masked_lm_weights": tf.constant([[1.0, 1.0], [1.0, 0.0]]),
                "next_sentence_labels": tf.constant([[1], [0]])}
    found = losses.pretraining_loss(outputs, features)
    masked = -(np.log(0.5) + np.log(0.6) + np.log(0.8)) / (3 + 1e-5)
    sentence = -(np.log(0.25) + np.log(0.75)) / 2
    assert float(found["masked_lm_loss"]) == pytest.approx(masked, rel=1e-6)
    assert float(found["next_sentence_loss"]) == pytest.approx(sentence, rel=1e-6)
    assert float(found["loss"]) == pytest.approx(masked + sentence, rel=1e-6)


def test_a_batch_without_predictions_has_no_masked_lm_loss():
    outputs = {"masked_lm_logits": tf.zeros([1, 2, 5]), "next_sentence_logits": tf.zeros([1, 2])}
    features = {"masked_lm_ids": tf.zeros([1, 2], tf.int32), "masked_lm_weights": tf.zeros([1, 2]),
                "next_sentence_labels": tf.zeros([1, 1], tf.int32)}
    assert float(losses.pretraining_loss(outputs, features)["masked_lm_loss"]) == 0


def test_classification_loss():
    outputs = {"logits": tf.math.log([[0.5, 0.5], [0.1, 0.9]])}
    assert float(losses.classification_loss(outputs, tf.constant([0, 1]))) == pytest.approx(
        -(np.log(0.5) + np.log(0.9)) / 2, rel=1e-6)


def test_regression_loss():
    outputs = {"logits": tf.constant([[1.0], [4.0], [2.0]])}
    assert float(losses.regression_loss(outputs, tf.constant([3.0, 4.0, 1.0]))) == pytest.approx(5 / 3)


def test_multi_label_loss():
    outputs = {"logits": tf.constant([[0.0, 2.0, -3.0]])}
    sigmoid = 1 / (1 + np.exp(-np.array([0.0, 2.0, -3.0])))
    expected = -np.mean([np.log(sigmoid[0]), np.log(1 - sigmoid[1]), np.log(1 - sigmoid[2])])
    assert float(losses.multi_label_loss(outputs, tf.constant([[1, 0, 0]]))) == pytest.approx(expected, rel=1e-6)
