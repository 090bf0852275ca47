"""Linear probes on states in which one layer determines the class."""

import numpy as np
import pytest

from bert_tf.analysis import probes
from bert_tf.analysis.probes import Examples

pytestmark = pytest.mark.large

CLASSES, WIDTH, LAYERS = 3, 8, 4
INFORMATIVE = 2  # The layer that determines the class.


def make(count, seed):
    """Returns states [count, LAYERS, WIDTH] and labels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, count).tolist()
    vectors = rng.normal(size=[count, LAYERS, WIDTH])
    vectors[np.arange(count), INFORMATIVE, labels] += 8
    return vectors, labels


def test_each_layer_has_its_own_probe_and_the_mix_prefers_the_informative_layer():
    train, dev = (Examples(vectors, np.arange(len(labels))[:, np.newaxis], labels) for vectors, labels in (
        make(600, 1), make(200, 2)))
    found = probes.probe(train, dev, epochs=30, batch_size=64, learning_rate=0.02)
    assert found.accuracy[INFORMATIVE] > 0.99
    assert (np.delete(found.accuracy, INFORMATIVE) < 0.5).all()
    assert found.mix_accuracy > 0.98
    assert found.weights.sum() == pytest.approx(1)
    assert found.weights.argmax() == INFORMATIVE
    assert found.weights[INFORMATIVE] > 0.5
    assert found.center == pytest.approx(sum(layer * weight for layer, weight in enumerate(found.weights)))


def test_probes_of_pairs_read_both_words():
    """The second word determines the class of a pair."""
    vectors, labels = make(400, 3)
    places = np.stack([np.arange(400), np.roll(np.arange(400), 7)], axis=1)
    examples = Examples(vectors.astype(np.float16), places, np.array(labels)[places[:, 1]].tolist())
    found = probes.probe(examples, examples, epochs=30, batch_size=64, learning_rate=0.02)
    assert found.accuracy[INFORMATIVE] > 0.99


def test_unknown_classes_count_as_errors():
    vectors, labels = make(100, 4)
    places = np.arange(100)[:, np.newaxis]
    unknown = Examples(vectors, places, [-1] * 100)
    found = probes.probe(Examples(vectors, places, labels), unknown, epochs=1, learning_rate=0.02)
    assert found.mix_accuracy == 0
    assert not found.accuracy.any()
