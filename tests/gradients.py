"""Gradients by the names of variables, to compare models that must compute the same."""

import numpy as np
import tensorflow as tf


def compute_gradients(model, features, loss):
    """Computes the gradients of a training call.

    Args:
      model: Model of bert_tf.models.
      features: Dict of its features.
      loss: Loss of bert_tf.losses.

    Returns:
      Dict of tensors: "loss", and the gradient of each trainable variable.
    """
    with tf.GradientTape() as tape:
        value = loss(model(features, training=True), features)["loss"]
    gradients = tape.gradient(value, model.trainable_variables)
    return {
        "loss": value,
        **{
            variable.name: tf.convert_to_tensor(gradient)
            for variable, gradient in zip(model.trainable_variables, gradients, strict=True)
        },
    }


def assert_close(found, expected, atol):
    """Compares two results of `compute_gradients`."""
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=0, atol=atol, err_msg=name)
