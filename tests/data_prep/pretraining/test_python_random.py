"""Draws equal to those of Python's random.Random."""

import random

import pytest

from data_prep.pretraining.python_random import RandomDraws


@pytest.mark.parametrize("length", [0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 127, 128, 129, 1000])
def test_shuffle_equals_python(length):
    ours, pythons = list(range(length)), list(range(length))
    rng, reference = RandomDraws(length), random.Random(length)

    rng.shuffle(ours)
    reference.shuffle(pythons)

    assert ours == pythons
    assert rng.getstate() == reference.getstate()


def test_randint_equals_python():
    rng, reference = RandomDraws(3), random.Random(3)
    ranges = [(0, 0), (5, 5), (-2, 1), (1, 2), (0, 6), (0, 7), (0, 8), (2, 125), (0, 30521), (0, 10**12)]

    assert [rng.randint(*ends) for ends in ranges * 50] == [reference.randint(*ends) for ends in ranges * 50]
    assert rng.getstate() == reference.getstate()


def test_randint_refuses_an_empty_range():
    with pytest.raises(ValueError, match="no integer is at least 4 and at most 3"):
        RandomDraws(1).randint(4, 3)
