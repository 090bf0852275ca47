"""Random numbers match random.Random of Python."""

import random

import numpy as np
import pytest

from data_prep.pretraining.instances import Sampler, sampling


@pytest.mark.parametrize("seed", [3, 2**70, "a seed"])
def test_shuffling(seed):
    sampler, reference = Sampler(seed), random.Random(seed)
    for length in (0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 127, 128, 129, 1000):
        array, expected = np.arange(length, dtype=np.uint32), list(range(length))
        sampler.shuffle(array)
        reference.shuffle(expected)
        assert array.tolist() == expected
    assert get_words(sampler.state) == reference.getstate()[1]


def get_words(state):
    """Returns the part of the state that Python has."""
    return tuple(state[:sampling.STATE_WORDS + 1].tolist())


def test_integers():
    state, reference = Sampler(3).state, random.Random(3)
    ranges = [(0, 0), (5, 5), (-2, 1), (1, 2), (0, 6), (0, 7), (0, 8), (2, 125), (0, 30521), (0, 2**31)] * 50
    assert [sampling.random_integer(state, *ends) for ends in ranges] == [reference.randint(*ends) for ends in ranges]
    assert get_words(state) == reference.getstate()[1]


def test_bits_and_fractions():
    """The Mersenne Twister in plain Python, over several cycles of its 624 words."""
    state, reference = Sampler(11).state, random.Random(11)
    assert [sampling.next_word(state) for _ in range(2000)] == [reference.getrandbits(32) for _ in range(2000)]
    assert [sampling.random_fraction(state) for _ in range(9)] == [reference.random() for _ in range(9)]
    assert [sampling.random_bits(state, bits) for bits in range(1, 33)] == [
        reference.getrandbits(bits) for bits in range(1, 33)]
    assert get_words(state) == reference.getstate()[1]
