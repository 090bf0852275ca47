"""Draws equal to those of Python's random.Random, in plain Python and compiled."""

import random

import numpy as np
import pytest

from data_prep.machine import is_available
from data_prep.pretraining.instances import drawing, draws
from data_prep.pretraining.instances.draws import RandomDraws

needs_numba = pytest.mark.skipif(not is_available(), reason="needs numba")
LENGTHS = [0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 127, 128, 129, 1000]


@pytest.mark.parametrize("length", LENGTHS)
def test_shuffle_equals_python(length):
    ours, pythons = list(range(length)), list(range(length))
    rng, reference = RandomDraws(length), random.Random(length)

    rng.shuffle(ours)
    reference.shuffle(pythons)

    assert ours == pythons
    assert rng.getstate() == reference.getstate()


@pytest.mark.parametrize("how", [drawing.PlainDraws, pytest.param(drawing.CompiledDraws, marks=needs_numba)])
def test_arrays_are_shuffled_as_lists_are(how):
    rng, reference = RandomDraws("a seed"), random.Random("a seed")
    reference.gauss(0, 1)  # of which half is kept in the state
    rng.setstate(reference.getstate())
    for length in LENGTHS:
        ours, pythons = np.arange(length, dtype=np.uint32), list(range(length))
        how(rng).shuffle(ours)
        reference.shuffle(pythons)
        assert ours.tolist() == pythons
    assert rng.getstate() == reference.getstate()


def test_randint_equals_python():
    rng, reference = RandomDraws(3), random.Random(3)
    ranges = [(0, 0), (5, 5), (-2, 1), (1, 2), (0, 6), (0, 7), (0, 8), (2, 125), (0, 30521), (0, 10**12)]

    assert [rng.randint(*ends) for ends in ranges * 50] == [reference.randint(*ends) for ends in ranges * 50]
    assert rng.getstate() == reference.getstate()


def test_randint_refuses_an_empty_range():
    with pytest.raises(ValueError, match="no integer is at least 4 and at most 3"):
        RandomDraws(1).randint(4, 3)


def test_the_words_of_a_state():
    """The Mersenne Twister that is compiled, run as Python: over several turns of its 624 words."""
    reference = random.Random(11)
    state = [*reference.getstate()[1]]
    assert [draws.next_word(state) for _ in range(2000)] == [reference.getrandbits(32) for _ in range(2000)]
    assert [draws.state_random(state) for _ in range(9)] == [reference.random() for _ in range(9)]
    assert [draws.state_getrandbits(state, bits) for bits in range(1, 33)] == [
        reference.getrandbits(bits) for bits in range(1, 33)]
    assert tuple(state) == reference.getstate()[1]
    assert [draws.bit_length(number) for number in (0, 1, 2, 3, 255, 256)] == [0, 1, 2, 2, 8, 9]
