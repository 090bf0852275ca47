"""How much each attention head and each feed-forward neuron of a model matters to its loss, to first order.

The importance of a head is the mean over examples of |dL / d mask|, of a mask that is 1 (Michel et al. 2019, "Are
Sixteen Heads Really Better than One?", section 4.1): by about so much the loss of an example would change without it.
Each example's derivative is its own, so that derivatives of different signs do not cancel, and none is carried from one
batch to the next.
"""

import dataclasses

import numpy as np
import tensorflow as tf

from bert_tf.techniques.masks import layers_of, masked

LEAST_NORM = 1e-30  # of a layer in which nothing matters


@dataclasses.dataclass(frozen=True)
class Importance:
    """Importances, by layer; of layers that share their weights, one for all.

    Attributes:
      heads: L arrays float64 [N], in the order of the model's heads.
      neurons: L arrays float64 [I].
      num_examples: int, over how many they are means.
    """

    heads: list
    neurons: list
    num_examples: int

    def normalised(self):
        """The Importance whose values have the norm (root of the sum of squares) 1 in each layer, as Michel et al. do.

        Gradients differ much in size from layer to layer, so that raw values of two layers do not compare.
        """
        return Importance(*([values / max(np.linalg.norm(values), LEAST_NORM) for values in layers]
                            for layers in (self.heads, self.neurons)), self.num_examples)


def importance(model, loss, batches):
    """The Importance of a task model's heads and neurons.

    Args:
      model: of bert_tf.models; its encoder must not remove padding.
      loss: (outputs of the model, features) -> dict with the scalar "loss", a mean over the examples.
      batches: iterable of dicts of features [B, ...], input_ids [B, S] or, of several texts an example,
        [B, choices, S]. B may differ.

    Returns:
      Importance, not normalised.
    """
    layers = layers_of(model.encoder)
    sizes = [layer.attention_output.kernel.shape[0] // model.encoder.config.head_width for layer in layers]
    sizes += [layer.output_projection.kernel.shape[0] for layer in layers]
    sums, num_examples = [np.zeros(size) for size in sizes], 0
    derivatives = tf.function(lambda features: _derivatives(model, loss, features, sizes), autograph=False,
                              reduce_retracing=True)
    for features in batches:
        for total, part in zip(sums, derivatives(features), strict=True):
            total += part.numpy()
        num_examples += len(features["input_ids"])
    means = [total / num_examples for total in sums]
    return Importance(means[: len(layers)], means[len(layers):], num_examples)


def _derivatives(model, loss, features, sizes):
    """The sum over a batch's examples of |dL / d mask|: a tensor [size] for each of `sizes`, heads, then neurons."""
    input_ids = features["input_ids"]
    num_examples = tf.shape(input_ids)[0]
    rows = tf.reduce_prod(tf.shape(input_ids)[:-1])
    masks = [tf.ones([rows, size]) for size in sizes]
    half = len(sizes) // 2
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(masks)
        with masked(model.encoder, masks[:half], masks[half:]):
            outputs = model(features, training=False)
        # Of a mean over examples each one's own loss is a share 1 / B.
        total = loss(outputs, features)["loss"] * tf.cast(num_examples, tf.float32)
    return [tf.reduce_sum(tf.abs(tf.reduce_sum(tf.reshape(gradient, [num_examples, -1, size]), axis=1)), axis=0)
            for gradient, size in zip(tape.gradient(total, masks), sizes, strict=True)]
