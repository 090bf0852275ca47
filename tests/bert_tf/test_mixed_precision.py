"""Mixed precision: close to float32, with float32 variables, losses, and statistics."""

import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from bert_tf import losses, models
from bert_tf.checkpoints import load_pretrained
from bert_tf.fast.layers import compute_probabilities
from bert_tf.layers import LayerNorm


# Unit roundoff: 2^-8 of bfloat16, 2^-11 of float16. After two layers, activations have sizes from 1 to 3.
@pytest.mark.parametrize(("policy", "tolerance"), [("mixed_bfloat16", 0.1), ("mixed_float16", 0.02)])
def test_outputs_are_close_to_float32(reference, reference_config, batch, policy, tolerance):
    plain, mixed = (models.BertPretrainer(models.BertEncoder(reference_config, dtype=dtype))
                    for dtype in (None, policy))
    for model in (plain, mixed):
        load_pretrained(model, str(reference / "pretrain_init.ckpt"))
    assert all(variable.dtype == tf.float32 for variable in mixed.trainable_variables)
    encoded = mixed.encoder(batch)
    assert encoded["sequence_output"].dtype == tf_keras.mixed_precision.Policy(policy).compute_dtype
    difference = np.abs(tf.cast(encoded["sequence_output"], tf.float32) - plain.encoder(batch)["sequence_output"])
    assert 1e-4 < difference.max() < tolerance
    outputs = mixed(batch)
    assert outputs["masked_lm_logits"].dtype == outputs["next_sentence_logits"].dtype == tf.float32
    np.testing.assert_allclose(losses.pretraining_loss(outputs, batch)["loss"],
                               losses.pretraining_loss(plain(batch), batch)["loss"], rtol=tolerance / 10)


def test_statistics_of_layer_norm_are_float32():
    """The mean of the inputs, 1028, is not a bfloat16 number."""
    x = tf.cast(1000.0 + tf.reshape(tf.range(64.0) % 8 * 8, [2, 32]), tf.bfloat16)
    normed = tf.cast(LayerNorm(32)(x), tf.float32).numpy()
    np.testing.assert_allclose(normed, (x.numpy().astype(np.float32) - 1028) / np.sqrt(336), rtol=2**-8)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-7), ("bfloat16", 2**-8), ("float16", 2**-10)])
def test_softmax_and_its_gradient(dtype, tolerance):
    """Compared with TensorFlow's in float64; in 16 bits, the gradient does not keep the float32 probabilities."""
    random = np.random.default_rng(3)
    scores, upstream = (tf.constant(random.normal(size=(2, 3, 5, 7)), dtype) for _ in range(2))
    bias = tf.constant(random.normal(size=(2, 1, 1, 7)), tf.float32)

    @tf.function
    def compute(scores):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            probabilities = compute_probabilities(scores, bias, training=True)
        return probabilities, tape.gradient(probabilities, scores, upstream)

    exact_scores = tf.cast(scores, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(exact_scores)
        expected = tf.nn.softmax(exact_scores + tf.cast(bias, tf.float64))
    expected_gradient = tape.gradient(expected, exact_scores, tf.cast(upstream, tf.float64))
    for found, value in zip(compute(scores), (expected, expected_gradient), strict=True):
        assert found.dtype == scores.dtype
        np.testing.assert_allclose(tf.cast(found, tf.float64), value, rtol=0, atol=tolerance)
    operations = compute.get_concrete_function(scores).graph.get_operations()
    softmax, = (operation for operation in operations if operation.type == "Softmax")
    assert (len(softmax.outputs[0].consumers()) == 1) == (dtype != "float32")
