"""First-order importance of each attention head and each feed-forward neuron for the loss.

The importance of a head is the mean over examples of |dL / d mask| for a mask of 1 (Michel et al.
2019, "Are Sixteen Heads Really Better than One?", section 4.1): this is approximately the change of
an example's loss without the head. Each example has its own derivative, so that derivatives of
different signs do not cancel, and batches are independent.

Shape legend: B batch, S sequence, N heads, NE neurons, L layers.
"""

import numpy as np
import tensorflow as tf

from bert_tf.techniques.masks import apply_masks, get_layers

MIN_NORM = 1e-30  # For a layer in which all importances are 0.


def normalize_importances(layers):
    """Scales the importances of each layer, L arrays, to an L2 norm of 1, as in Michel et al.

    Gradients differ a lot in size from layer to layer, so raw values of two layers cannot be
    compared.
    """
    return [values / max(np.linalg.norm(values), MIN_NORM) for values in layers]


def importance(model, loss, batches):
    """Computes the importances of a task model's heads and neurons.

    Args:
      model: Model of bert_tf.models; its encoder must not remove padding.
      loss: Function (outputs of the model, features) -> dict with the scalar "loss", a mean over
        the examples.
      batches: Iterable of dicts of features [B, ...]: input_ids [B, S], or [B, choices, S] for
        several texts per example. B can vary.

    Returns:
      Importances of the heads, L arrays float64 [N] in the order of the model's heads, and of the
      neurons, L arrays float64 [NE]. Layers that share their weights have one array.
    """
    layers = get_layers(model.encoder)
    sizes = [
        layer.attention_output.kernel.shape[0] // model.encoder.config.head_width
        for layer in layers
    ]
    sizes += [layer.output_projection.kernel.shape[0] for layer in layers]
    sums = [np.zeros(size) for size in sizes]
    num_examples = 0
    derivatives = tf.function(
        lambda features: _derivatives(model, loss, features, sizes),
        autograph=False,
        reduce_retracing=True,
    )
    for features in batches:
        for total, part in zip(sums, derivatives(features), strict=True):
            total += part.numpy()
        num_examples += len(features["input_ids"])
    means = [total / num_examples for total in sums]
    return means[: len(layers)], means[len(layers) :]


def _derivatives(model, loss, features, sizes):
    """Sums |dL / d mask| over a batch's examples.

    Returns:
      One tensor [size] for each of `sizes`: first those of the heads, then those of the neurons.
    """
    input_ids = features["input_ids"]
    num_examples = tf.shape(input_ids)[0]
    rows = tf.reduce_prod(tf.shape(input_ids)[:-1])
    masks = [tf.ones([rows, size]) for size in sizes]
    half = len(sizes) // 2
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(masks)
        with apply_masks(model.encoder, masks[:half], masks[half:]):
            outputs = model(features, training=False)
        # In a mean over examples, each example's loss has the factor 1 / B.
        total = loss(outputs, features)["loss"] * tf.cast(num_examples, tf.float32)
    return [
        tf.reduce_sum(
            tf.abs(tf.reduce_sum(tf.reshape(gradient, [num_examples, -1, size]), axis=1)), axis=0
        )
        for gradient, size in zip(tape.gradient(total, masks), sizes, strict=True)
    ]
