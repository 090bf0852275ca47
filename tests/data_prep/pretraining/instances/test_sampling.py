"""Random numbers match random.Random of Python, and random parts of pairs."""

import dataclasses
import random

import numpy as np
import pytest

from data_prep.pretraining.instances import (
    InstanceSettings,
    create_instances,
    create_random_state,
    sampling,
)
from data_prep.pretraining.instances.generation import create_text
from tests.data_prep.pretraining.instances.toy_corpora import (
    VOCABULARY,
    make_corpus,
    make_random_corpus,
)


@pytest.mark.parametrize("seed", [3, 2**70, "a seed"])
def test_shuffling(seed):
    state = create_random_state(seed)
    reference = random.Random(seed)
    for length in (0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 127, 128, 129, 1000):
        array = np.arange(length, dtype=np.uint32)
        expected = list(range(length))
        sampling.shuffle_array(state, array)
        reference.shuffle(expected)
        assert array.tolist() == expected
    assert tuple(state[: sampling.STATE_WORDS + 1].tolist()) == reference.getstate()[1]


@pytest.mark.parametrize(("documents", "expected"), [([1] * 9 + [0], (0, 1)), ([1] * 10, (1, 2))])
def test_ten_tries_for_another_document(monkeypatch, documents, expected):
    """The first of the two documents, or if no try finds it, the second one itself."""
    numbers = [*documents, 0]
    monkeypatch.setattr(sampling, "random_integer", lambda state, low, high: numbers.pop(0))
    text = create_text(make_corpus([4], [3]), InstanceSettings(), VOCABULARY)
    assert sampling.sample_sentences(None, 1, text, 9) == expected


def test_replacements_from_a_large_vocabulary():
    """Their IDs exceed 16 bits."""
    vocabulary = dataclasses.replace(
        VOCABULARY, random_ids=np.arange(40_000), is_continuation=np.zeros(40_000, bool)
    )
    instances = create_instances(
        make_random_corpus(4), InstanceSettings(), vocabulary, create_random_state(2)
    )
    assert 38_000 < instances.mask_replacements.max() < 40_000
