"""What heads do, by cases made by hand: words out of pieces, behaviours, divergences, dependencies."""

import types

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.analysis import behaviours, dependencies, distances, words

CLS, SEP, DOT = 2, 3, 9
TOKENIZER = types.SimpleNamespace(cls_id=CLS, sep_id=SEP)
IS_PUNCTUATION = tf.constant([number == DOT for number in range(20)])


def tokens_of(rows, segments):
    """The Tokens of rows of ids; 0 is padding."""
    ids = tf.constant(rows, tf.int32)
    features = {"input_ids": ids, "input_mask": tf.cast(ids > 0, tf.int32),
                "segment_ids": tf.constant(segments, tf.int32)}
    return behaviours.Tokens.of(features, TOKENIZER, IS_PUNCTUATION)


def to_place(places, size):
    """Attention [S, S] of a head that gives all to one place, that of each token."""
    return np.eye(size, dtype=np.float32)[places]


def measured(heads, tokens):
    """Dict of measure -> list, a number a head; heads: matrices [B, S, S]."""
    attention = tf.constant(np.stack(heads, axis=1), tf.float32)
    with np.errstate(invalid="ignore"):
        values = behaviours.totals(attention, tokens).numpy() / behaviours.counts(tokens).numpy()
    return dict(zip(behaviours.NAMES, values.T.tolist(), strict=True))


def test_pieces_become_words():
    pieces = ["[CLS]", "un", "##aff", "##able", "cat", "[SEP]", "##s", "dog", "##s", "[SEP]"]
    assert words.word_numbers(pieces).tolist() == [0, 1, 1, 1, 2, 3, 4, 5, 5, 6]
    assert words.surfaces(pieces, words.word_numbers(pieces)) == [
        "[CLS]", "unaffable", "cat", "[SEP]", "##s", "dogs", "[SEP]"]
    assert words.surfaces(["é", "##t", "!"], [0, 0, 1], "ÉT !", [(0, 1), (1, 2), (3, 4)]) == ["ÉT", "!"]


def test_attention_to_a_split_word_is_summed_and_from_it_averaged():
    attention = np.array([[0.1, 0.2, 0.3, 0.4], [0.5, 0.1, 0.1, 0.3], [0.3, 0.3, 0.2, 0.2], [0, 0, 0, 1]])
    joined = words.join(np.stack([attention, attention.T]), [0, 1, 1, 2])
    np.testing.assert_allclose(joined[0], [[0.1, 0.5, 0.4], [0.4, 0.35, 0.25], [0, 0, 1]])
    np.testing.assert_allclose(joined[0].sum(axis=1), 1)
    np.testing.assert_allclose(joined[1, 0], [0.1, 0.8, 0])


def test_each_behaviour_is_found_as_such():
    size, tokens = 6, tokens_of([[CLS, 5, 6, DOT, 7, SEP]], [[0] * 6])
    places = np.arange(size)
    heads = {"previous": to_place(np.maximum(places - 1, 0), size), "next": to_place(np.minimum(places + 1, 5), size),
             "same": to_place(places, size), "cls": to_place(0 * places, size), "sep": to_place(0 * places + 5, size),
             "punctuation": to_place(0 * places + 3, size), "entropy": np.full([size, size], 1 / size)}
    found = measured([each[np.newaxis] for each in heads.values()], tokens)
    for number, name in enumerate(list(heads)[:-1]):
        assert found[name][number] == pytest.approx(1)
        assert found["entropy"][number] == pytest.approx(0, abs=1e-6)
        others = [found[other][number] for other in ("previous", "next", "same", "cls", "sep", "punctuation")
                  if other != name]
        assert max(others) < 0.5
    assert found["entropy"][-1] == pytest.approx(np.log(6))
    assert found["distance"][0] == pytest.approx(5 / 6)  # the first has none before it
    assert found["distance"][-1] == pytest.approx(np.abs(places[:, None] - places).mean())
    assert found["first_text"] == pytest.approx([4 / 6, 4 / 6, 4 / 6, 0, 0, 1, 4 / 6])
    assert np.isnan(found["second_text"]).all()


def test_pairs_and_padding():
    """Two rows: a pair, A of 2 pieces and B of 1, and a single text with padding, at which attention is rubbish."""
    tokens = tokens_of([[CLS, 5, 6, SEP, 7, SEP], [CLS, 8, SEP, 0, 0, 0]], [[0, 0, 0, 0, 1, 1], [0] * 6])
    crossing = np.zeros([2, 6, 6], np.float32)
    crossing[0, :4, 4] = 1  # all of A and its ends to the one piece of B
    crossing[0, 4:, [1, 2]] = 0.5
    crossing[1, :3, 1] = 1
    crossing[1, 3:] = 7
    found = measured([crossing], tokens)
    assert found["other_text"][0] == pytest.approx(1)  # 3 pieces, without [CLS] and [SEP]
    assert found["second_text"][0] == pytest.approx(4 / 6)
    assert found["first_text"][0] == pytest.approx((2 + 3) / 9)
    assert found["entropy"][0] == pytest.approx(2 * np.log(2) / 9)
    assert behaviours.counts(tokens).numpy().tolist() == [9, 9, 9, 7, 7, 9, 9, 9, 9, 6, 3]


def test_divergences():
    """0 between heads that attend alike, log 2 between those that share nothing; padding does not count."""
    places = np.arange(4)
    heads = [to_place(places, 4), to_place(places, 4), to_place(3 - places, 4),
             0.5 * (to_place(places, 4) + to_place(3 - places, 4))]
    attention = tf.constant(np.stack(heads)[np.newaxis], tf.float32)
    found = distances.divergences(attention, tf.ones([1, 4])).numpy() / 4
    half = -(0.75 * np.log(0.75) + 0.25 * np.log(0.25)) - 0.5 * np.log(2)  # H(3/4, 1/4) - H(1/2, 1/2) / 2
    np.testing.assert_allclose(found, [[0, 0, np.log(2), half], [0, 0, np.log(2), half],
                                       [np.log(2), np.log(2), 0, half], [half, half, half, 0]], atol=1e-6)
    two = distances.divergences(attention, tf.constant([[1.0, 1, 0, 0]])).numpy()
    np.testing.assert_allclose(two, 2 * found, atol=1e-6)


def test_dependencies():
    """[CLS] a b##b c [SEP]: the head of a is b, that of c is b, b is the root."""
    word_of = tf.constant([[-1, 0, 1, 1, 2, -1]])
    heads = tf.constant([[1, -1, 1]])
    attention = np.zeros([1, 2, 6, 6], np.float32)
    # Head 0: a to the two pieces of b, less each than to c, more together; c mostly to itself, then to b.
    attention[0, 0, 1] = [0, 0, 0.3, 0.3, 0.4, 0]
    attention[0, 0, 4] = [0, 0.1, 0.2, 0, 0.7, 0]
    # Head 1: of both pieces of b one attends to a, the other to c; a attends to a, c to a more than b does.
    attention[0, 1, 2] = [0, 1, 0, 0, 0, 0]
    attention[0, 1, 3] = [0, 0, 0, 0, 1, 0]
    attention[0, 1, 4] = [0, 0.6, 0, 0, 0, 0.4]
    joined = dependencies.word_attention(tf.constant(attention), word_of, 3)
    np.testing.assert_allclose(joined[0, 0, 0], [0, 0.6, 0.4])
    np.testing.assert_allclose(joined[0, 1, 1], [0.5, 0, 0.5])
    found = dependencies.hits(joined, heads).numpy()
    assert found[0, 0, 0].tolist() == [True, False, True]
    assert not found[0, 0, 1, 2]  # c attends to a
    assert not found[1, 0, 1, 0]  # c attends to a more than b does
    assert found[1, 0, 1, 2]  # of a and b, b attends most to c
