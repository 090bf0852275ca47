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


def slice_of(tensors, rows):
    return {name: value[rows] for name, value in tensors.items()}


def test_shares_of_pieces_with_unequal_predictions_add_up_to_the_loss_of_the_batch():
    generator = np.random.default_rng(7)
    outputs = {"masked_lm_logits": tf.constant(generator.normal(size=[5, 3, 7]), tf.float32),
               "next_sentence_logits": tf.constant(generator.normal(size=[5, 2]), tf.float32)}
    features = {"masked_lm_ids": tf.constant(generator.integers(0, 7, [5, 3])),
                "masked_lm_weights": tf.constant([[1.0, 0, 0], [1, 0, 0], [1, 1, 1], [1, 1, 0], [1, 1, 1]]),
                "next_sentence_labels": tf.constant([[1], [0], [0], [1], [1]])}
    whole = losses.pretraining_loss(outputs, features)
    pieces = [(slice_of(outputs, rows), slice_of(features, rows)) for rows in (slice(0, 2), slice(2, 5))]
    normalisers = tf.nest.map_structure(
        lambda *each: sum(each), *(losses.pretraining_loss.normalisers(piece) for _, piece in pieces))
    assert normalisers == {"predictions": 10, "examples": 5}
    shares = [losses.pretraining_loss.share(*piece, normalisers) for piece in pieces]
    for name, value in whole.items():
        assert float(sum(share[name] for share in shares)) == pytest.approx(float(value), rel=1e-6)
    mean_of_means = np.mean([losses.pretraining_loss(*piece)["masked_lm_loss"] for piece in pieces])
    assert abs(mean_of_means / whole["masked_lm_loss"] - 1) > 1e-2


def test_shares_of_a_mean_over_examples():
    loss = losses.in_shares(lambda outputs, features: {"loss": losses.classification_loss(outputs, features["labels"])})
    outputs = {"logits": tf.constant([[0.0, 1.0], [2.0, 0.5], [0.25, 3.0]])}
    features = {"labels": tf.constant([1, 1, 0])}
    pieces = [(slice_of(outputs, rows), slice_of(features, rows)) for rows in (slice(0, 1), slice(1, 3))]
    total = sum(loss.share(*piece, {"examples": 3.0})["loss"] for piece in pieces)
    assert float(total) == pytest.approx(float(loss(outputs, features)["loss"]), rel=1e-6)
    assert losses.in_shares(losses.pretraining_loss) is losses.pretraining_loss


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


def test_span_loss_by_hand():
    outputs = {"start_logits": tf.constant([[0.0, np.log(3), 0, 0]]), "end_logits": tf.zeros([1, 4])}
    features = {"start_positions": tf.constant([[1]]), "end_positions": tf.constant([[2]]),
                "input_mask": tf.constant([[1, 1, 1, 0]])}
    # Probabilities of the right ones: 3/6 and 1/4; without the padding 3/5 and 1/3.
    for ignore_padding, expected in ((False, np.log(8) / 2), (True, np.log(5) / 2)):
        loss = losses.span_loss(outputs, features, ignore_padding)
        np.testing.assert_allclose(loss, expected, rtol=1e-6)


def test_token_loss_by_hand():
    """Two labelled tokens; neither the logits of others nor more padding change the loss."""
    logits = np.zeros([2, 3, 4], np.float32)
    logits[0, 1] = [np.log(3), 0, 0, 0]  # probabilities 3/6, 1/6, 1/6, 1/6
    label_ids = np.array([[-1, 0, -1], [2, -1, -1]], np.int32)
    expected = (np.log(2) + np.log(4)) / 2
    found = losses.token_classification_loss({"logits": logits}, {"label_ids": label_ids})["loss"]
    assert float(found) == pytest.approx(expected, rel=1e-6)
    wider = np.pad(logits, [(0, 0), (0, 5), (0, 0)], constant_values=7)
    wider[0, 0] = [1, 2, 3, 4]
    padded = np.pad(label_ids, [(0, 0), (0, 5)], constant_values=-1)
    found = losses.token_classification_loss({"logits": wider}, {"label_ids": padded})["loss"]
    assert float(found) == pytest.approx(expected, rel=1e-6)
    wider = tf.constant(wider)
    with tf.GradientTape() as tape:
        tape.watch(wider)
        loss = losses.token_classification_loss({"logits": wider}, {"label_ids": tf.fill([2, 8], -1)})["loss"]
    assert loss == 0
    assert not tape.gradient(loss, wider).numpy().any()


def test_shares_of_pieces_with_unequal_labelled_tokens_add_up():
    generator = np.random.default_rng(3)
    outputs = {"logits": tf.constant(generator.normal(size=[3, 4, 5]), tf.float32)}
    features = {"label_ids": tf.constant([[0, -1, -1, -1], [2, 3, 1, -1], [4, 4, -1, -1]])}
    loss = losses.token_classification_loss
    pieces = [(slice_of(outputs, rows), slice_of(features, rows)) for rows in (slice(0, 1), slice(1, 3))]
    normalisers = tf.nest.map_structure(lambda *each: sum(each), *(loss.normalisers(piece) for _, piece in pieces))
    assert normalisers == {"labelled": 6, "examples": 3}
    total = sum(loss.share(*piece, normalisers)["loss"] for piece in pieces)
    assert float(total) == pytest.approx(float(loss(outputs, features)["loss"]), rel=1e-6)
