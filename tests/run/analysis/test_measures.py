"""Behaviors and dependencies of attention heads, by hand; probes of states of known layers.

One layer determines the class of a state.
"""

import types

import numpy as np
import pytest
import tensorflow as tf

from run.analysis import behaviors, linear_probes
from run.analysis.linear_probes import Examples

CLS = 2
SEP = 3
DOT = 9
TOKENIZER = types.SimpleNamespace(cls_id=CLS, sep_id=SEP)
IS_PUNCTUATION = tf.constant([number == DOT for number in range(20)])


def make_tokens(rows, segments):
    """Returns the Tokens of rows of IDs; 0 is padding."""
    ids = tf.constant(rows, tf.int32)
    features = {
        "input_ids": ids,
        "input_mask": tf.cast(ids > 0, tf.int32),
        "segment_ids": tf.constant(segments, tf.int32),
    }
    return behaviors.Tokens.from_features(features, TOKENIZER, IS_PUNCTUATION)


def attend_to(positions, size):
    """Returns the attention [S, S] of a head whose tokens attend to one token each."""
    return np.eye(size, dtype=np.float32)[positions]


def measure(heads, tokens):
    """Returns {measure: value of each head} for heads [B, S, S]."""
    attention = tf.constant(np.stack(heads, axis=1), tf.float32)
    with np.errstate(invalid="ignore"):
        values = (
            behaviors.sum_measures(attention, tokens).numpy()
            / behaviors.count_measured_tokens(tokens).numpy()
        )
    return dict(zip(behaviors.NAMES, values.T.tolist(), strict=True))


def test_behaviors_of_one_text():
    size = 6
    tokens = make_tokens([[CLS, 5, 6, DOT, 7, SEP]], [[0] * 6])
    positions = np.arange(size)
    heads = {
        "previous": attend_to(np.maximum(positions - 1, 0), size),
        "next": attend_to(np.minimum(positions + 1, 5), size),
        "same": attend_to(positions, size),
        "cls": attend_to(0 * positions, size),
        "sep": attend_to(0 * positions + 5, size),
        "punctuation": attend_to(0 * positions + 3, size),
        "entropy": np.full([size, size], 1 / size),
    }
    found = measure([each[np.newaxis] for each in heads.values()], tokens)
    for number, name in enumerate(list(heads)[:-1]):
        assert found[name][number] == pytest.approx(1)
        assert found["entropy"][number] == pytest.approx(0, abs=1e-6)
        others = [
            found[other][number]
            for other in ("previous", "next", "same", "cls", "sep", "punctuation")
            if other != name
        ]
        assert max(others) < 0.5
    assert found["entropy"][-1] == pytest.approx(np.log(6))
    assert found["distance"][0] == pytest.approx(5 / 6)  # The first token attends to itself.
    assert found["distance"][-1] == pytest.approx(np.abs(positions[:, None] - positions).mean())
    assert found["first_text"] == pytest.approx([4 / 6, 4 / 6, 4 / 6, 0, 0, 1, 4 / 6])
    assert np.isnan(found["second_text"]).all()


def test_pairs_and_padding():
    """A pair with 2 and 1 tokens, and a single text whose attention at padding is arbitrary."""
    tokens = make_tokens(
        [[CLS, 5, 6, SEP, 7, SEP], [CLS, 8, SEP, 0, 0, 0]], [[0, 0, 0, 0, 1, 1], [0] * 6]
    )
    crossing = np.zeros([2, 6, 6], np.float32)
    crossing[0, :4, 4] = 1
    crossing[0, 4:, [1, 2]] = 0.5
    crossing[1, :3, 1] = 1
    crossing[1, 3:] = 7
    found = measure([crossing], tokens)
    assert found["other_text"][0] == pytest.approx(1)  # Of 3 tokens, without [CLS] and [SEP].
    assert found["second_text"][0] == pytest.approx(4 / 6)
    assert found["first_text"][0] == pytest.approx((2 + 3) / 9)
    assert found["entropy"][0] == pytest.approx(2 * np.log(2) / 9)
    assert behaviors.count_measured_tokens(tokens).numpy().tolist() == [
        9,
        9,
        9,
        7,
        7,
        9,
        9,
        9,
        9,
        6,
        3,
    ]


def test_dependencies():
    """[CLS] a b ##b c [SEP]: b is the head of a and of c, and the root."""
    word_of = tf.constant([[-1, 0, 1, 1, 2, -1]])
    heads = tf.constant([[1, -1, 1]])
    attention = np.zeros([1, 2, 6, 6], np.float32)
    # Head 0: a attends to both tokens of b, each less than c, but more in total; c attends to
    # itself, then to b.
    attention[0, 0, 1] = [0, 0, 0.3, 0.3, 0.4, 0]
    attention[0, 0, 4] = [0, 0.1, 0.2, 0, 0.7, 0]
    # Head 1: one token of b attends to a, the other to c; c attends to a more than b does.
    attention[0, 1, 2] = [0, 1, 0, 0, 0, 0]
    attention[0, 1, 3] = [0, 0, 0, 0, 1, 0]
    attention[0, 1, 4] = [0, 0.6, 0, 0, 0, 0.4]
    joined = behaviors.word_attention(tf.constant(attention), word_of, 3)
    np.testing.assert_allclose(joined[0, 0, 0], [0, 0.6, 0.4])
    np.testing.assert_allclose(joined[0, 1, 1], [0.5, 0, 0.5])
    found = behaviors.hits(joined, heads).numpy()
    assert found[0, 0, 0].tolist() == [True, False, True]
    assert not found[0, 0, 1, 2]  # c attends to a.
    assert not found[1, 0, 1, 0]  # c attends to a more than b does.
    assert found[1, 0, 1, 2]  # Of a and b, b attends most to c.


CLASSES = 3
WIDTH = 8
LAYERS = 4
INFORMATIVE = 2  # The layer that determines the class.


def make_states(count, seed):
    """Returns states [count, LAYERS, WIDTH] and labels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, count).tolist()
    vectors = rng.normal(size=[count, LAYERS, WIDTH])
    vectors[np.arange(count), INFORMATIVE, labels] += 8
    return vectors, labels


@pytest.mark.large
def test_each_layer_has_its_own_probe_and_the_mix_prefers_the_informative_layer():
    train, dev = (
        Examples(vectors, np.arange(len(labels))[:, np.newaxis], labels)
        for vectors, labels in (make_states(600, 1), make_states(200, 2))
    )
    found = linear_probes.probe(train, dev, epochs=30, batch_size=64, learning_rate=0.02)
    assert found.accuracy[INFORMATIVE] > 0.99
    assert (np.delete(found.accuracy, INFORMATIVE) < 0.5).all()
    assert found.mix_accuracy > 0.98
    assert found.weights.sum() == pytest.approx(1)
    assert found.weights.argmax() == INFORMATIVE
    assert found.weights[INFORMATIVE] > 0.5
    assert found.center == pytest.approx(
        sum(layer * weight for layer, weight in enumerate(found.weights))
    )


@pytest.mark.large
def test_probes_of_pairs_read_both_words():
    """The second word determines the class of a pair."""
    vectors, labels = make_states(400, 3)
    positions = np.stack([np.arange(400), np.roll(np.arange(400), 7)], axis=1)
    examples = Examples(
        vectors.astype(np.float16), positions, np.array(labels)[positions[:, 1]].tolist()
    )
    found = linear_probes.probe(examples, examples, epochs=30, batch_size=64, learning_rate=0.02)
    assert found.accuracy[INFORMATIVE] > 0.99


@pytest.mark.large
def test_unknown_classes_count_as_errors():
    vectors, labels = make_states(100, 4)
    positions = np.arange(100)[:, np.newaxis]
    unknown = Examples(vectors, positions, [-1] * 100)
    found = linear_probes.probe(
        Examples(vectors, positions, labels), unknown, epochs=1, learning_rate=0.02
    )
    assert found.mix_accuracy == 0
    assert not found.accuracy.any()
