"""Linear probes on the frozen layers of a model, and on a learned mix of all layers.

The mix is ELMo's (bert_tf.layers.ScalarMix). Its center of gravity is the mean of the layer
numbers, weighted by the mix (Tenney et al. 2019, "BERT Rediscovers the Classical NLP Pipeline").
Probes have no hidden layers, and their inputs are standardized, so that layers can be compared.

Shape legend: B batch, EX examples, IT items, AR items per example, LE layers and the
embeddings, H hidden, CC classes.
"""

import dataclasses

import numpy as np
import tensorflow as tf
import tf_keras

from bert_tf.layers import ScalarMix

MIN_DEVIATION = 1e-5
ROWS_AT_A_TIME = 1024


@dataclasses.dataclass(frozen=True)
class Examples:
    """Examples to train or evaluate a probe."""

    vectors: np.ndarray  # [IT, LE, H] of any float type. Hidden states of the items.
    # int [EX, AR]. Items of each example; a probe reads their concatenated states.
    items: np.ndarray
    labels: list  # EX labels.

    def gather(self, rows):
        """Returns the states of the items of some examples, float32 [rows, AR, LE, H]."""
        return tf.constant(self.vectors[self.items[rows]].astype(np.float32))


@dataclasses.dataclass(frozen=True)
class ProbeResult:
    """Results of probes."""

    accuracy: np.ndarray  # float64 [LE]. Accuracy of each layer's probe on the evaluation examples.
    mix_accuracy: float
    weights: np.ndarray  # float64 [LE]. Weights of the layers in the mix; their sum is 1.

    @property
    def center(self):
        """Center of gravity of the mix, in layers; the embeddings are 0."""
        return float(self.weights @ np.arange(len(self.weights)))


def probe(train, dev, *, epochs, learning_rate, batch_size=256, seed=0):
    """Trains a linear classifier on each layer, and one on a mix of all layers.

    The classifiers learn independently, but in the same steps.

    Args:
      train, dev: Examples for training and for evaluation. A label that training lacks counts as an
        error.
      epochs: int. Number of training epochs.
      learning_rate: float. Initial learning rate of Adam; it falls linearly to 0.
      batch_size: int.
      seed: int. Seed of the order of examples.

    Returns:
      ProbeResult.
    """
    classes = {label: number for number, label in enumerate(sorted(set(train.labels)))}
    num_layers, width = train.vectors.shape[1:]
    # Normalizes each column of each layer to mean 0 and standard deviation 1 over the items.
    mean = tf.constant(train.vectors.mean(axis=0, dtype=np.float32))
    scale = tf.constant(1 / np.maximum(train.vectors.std(axis=0, dtype=np.float32), MIN_DEVIATION))
    mix = ScalarMix(num_layers)
    kernels = tf.Variable(tf.zeros([num_layers + 1, train.items.shape[1] * width, len(classes)]))
    biases = tf.Variable(tf.zeros([num_layers + 1, 1, len(classes)]))

    def compute_logits(vectors):
        """Computes logits [LE + 1, B, CC] for states [B, AR, LE, H]; the mix is last."""
        layers = tf.transpose((vectors - mean) * scale, [2, 0, 1, 3])  # [LE, B, AR, H]
        inputs = tf.concat([layers, mix(layers)[tf.newaxis]], axis=0)
        shape = tf.shape(inputs)
        return (
            tf.matmul(tf.reshape(inputs, [shape[0], shape[1], shape[2] * shape[3]]), kernels)
            + biases
        )

    _train(
        compute_logits,
        [kernels, biases, *mix.trainable_variables],
        train,
        np.array([classes[label] for label in train.labels]),
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        seed=seed,
    )
    dev_classes = np.array([classes.get(label, -1) for label in dev.labels])
    right = 0
    for start in range(0, len(dev_classes), ROWS_AT_A_TIME):
        rows = np.arange(start, min(start + ROWS_AT_A_TIME, len(dev_classes)))
        predicted = tf.argmax(compute_logits(dev.gather(rows)), axis=-1).numpy()  # [LE + 1, rows]
        right += (predicted == dev_classes[rows]).sum(axis=1)
    accuracy = right / len(dev_classes)
    return ProbeResult(
        accuracy[:-1], float(accuracy[-1]), mix.layer_weights.numpy().astype(np.float64)
    )


def _train(compute_logits, variables, train, classes, *, epochs, batch_size, learning_rate, seed):
    """Trains `variables` on Examples with the classes int [EX]; see `probe`."""
    steps = max(1, -(-len(classes) // batch_size) * epochs)
    optimizer = tf_keras.optimizers.Adam(
        tf_keras.optimizers.schedules.PolynomialDecay(learning_rate, steps, 0.0), jit_compile=False
    )
    optimizer.build(variables)

    @tf.function(autograph=False, reduce_retracing=True)
    def take_step(vectors, labels):
        with tf.GradientTape() as tape:
            logits = compute_logits(vectors)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=tf.repeat(labels[tf.newaxis], tf.shape(logits)[0], axis=0), logits=logits
            )
            # A sum, so the probes have independent gradients.
            loss = tf.reduce_sum(tf.reduce_mean(losses, axis=1))
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))

    rng = np.random.default_rng(seed)
    for _ in range(epochs):
        order = rng.permutation(len(classes))
        for start in range(0, len(classes), batch_size):
            rows = order[start : start + batch_size]
            take_step(train.gather(rows), tf.constant(classes[rows], tf.int32))
