"""Linear probes on vectors of which it is known what can be read off them."""

import numpy as np
import pytest

from bert_tf.analysis import probes
from bert_tf.analysis.probes import Examples

CLASSES, WIDTH, LAYERS = 3, 8, 4
TOLD_BY = 2  # the layer that tells the class


def make(count, seed):
    """Words whose class is told by one layer alone; the first word of each pair by its own vector."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, count)
    vectors = rng.normal(size=[count, LAYERS, WIDTH])
    vectors[np.arange(count), TOLD_BY, labels] += 8
    return vectors, labels


@pytest.fixture(scope="module")
def found():
    train, dev = ((vectors, np.arange(len(labels))[:, np.newaxis], labels) for vectors, labels in (
        make(600, 1), make(200, 2)))
    return probes.probe(Examples(*train), Examples(*dev), CLASSES, epochs=30, batch_size=64, learning_rate=0.02)


def test_each_layer_is_judged_by_itself(found):
    assert found.accuracy[TOLD_BY] > 0.99
    others = np.delete(found.accuracy, TOLD_BY)
    assert (others < 0.5).all()


def test_the_mix_finds_the_layer_that_tells(found):
    assert found.mix_accuracy > 0.98
    assert found.weights.sum() == pytest.approx(1)
    assert found.weights.argmax() == TOLD_BY
    assert found.weights[TOLD_BY] > 0.5
    assert found.centre == pytest.approx(sum(layer * weight for layer, weight in enumerate(found.weights)))


def test_pairs_are_read_off_both_vectors():
    """The class is that of the second word."""
    vectors, labels = make(400, 3)
    places = np.stack([np.arange(400), np.roll(np.arange(400), 7)], axis=1)
    examples = Examples(vectors.astype(np.float16), places, labels[places[:, 1]])
    found = probes.probe(examples, examples, CLASSES, epochs=30, batch_size=64, learning_rate=0.02)
    assert found.accuracy[TOLD_BY] > 0.99


def test_a_class_that_training_lacks_counts_as_wrong():
    vectors, labels = make(100, 4)
    places = np.arange(100)[:, np.newaxis]
    unknown = Examples(vectors, places, np.full(100, -1))
    found = probes.probe(Examples(vectors, places, labels), unknown, CLASSES, epochs=1)
    assert found.mix_accuracy == 0
    assert not found.accuracy.any()
