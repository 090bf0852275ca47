"""Numbers of masked tokens, and their replacements.

The records of the original BERT test which tokens are masked.
"""

import dataclasses
import functools

import numpy as np
import pytest

from bert_tf.tokenization import BertTokenizer
from data_prep.pretraining.corpus import Corpus
from data_prep.pretraining.instances import (
    InstanceSettings,
    create_instances,
    create_random_state,
    masking,
    sampling,
)
from run.pretraining.settings import PretrainingSettings
from tests.data_prep.pretraining.instances.toy_corpora import MASK, VOCABULARY, make_random_corpus
from tests.errors import rejects


@dataclasses.dataclass(frozen=True)
class NumMasks:
    """Number of masked tokens of a sequence.

    Attributes:
      length: int. Number of tokens of the sequence.
      probability: float. Fraction of the tokens that are masked.
      max_masks: int. Maximum number of masked tokens.
      expected: int. Number of masked tokens.
    """

    length: int
    probability: float
    max_masks: int
    expected: int


@pytest.mark.parametrize(
    "case",
    [
        NumMasks(length=128, probability=0.15, max_masks=20, expected=19),  # 19.2
        NumMasks(length=128, probability=0.15, max_masks=18, expected=18),
        NumMasks(length=3, probability=0.15, max_masks=20, expected=1),  # 0.45, but at least one
        NumMasks(length=10, probability=0.25, max_masks=20, expected=2),
        # 2.5 and 3.5 become the even number, as Python rounds.
        NumMasks(length=14, probability=0.25, max_masks=20, expected=4),
    ],
)
def test_number_to_predict(case):
    assert masking.number_to_predict(case.length, case.probability, case.max_masks) == case.expected


@pytest.mark.parametrize(
    ("mask_fraction", "random_fraction", "whole_words"),
    [
        (0.8, 0.1, False),
        (0.8, 0.1, True),
        (1, 0, False),
        (0, 1, False),
        (0, 0, False),
        (0.3, 0.6, False),
    ],
)
def test_fractions_of_replacements(mask_fraction, random_fraction, whole_words):
    """More than 10,000 masks; five standard deviations of each fraction, so 0 and 1 are exact."""
    vocabulary = dataclasses.replace(VOCABULARY, random_ids=np.arange(9))
    settings = InstanceSettings(
        max_seq_length=20,
        dupe_factor=50,
        do_whole_word_mask=whole_words,
        mask_fraction=mask_fraction,
        random_fraction=random_fraction,
    )
    instances = create_instances(
        make_random_corpus(3, 60), settings, vocabulary, create_random_state(5)
    )
    replacements = instances.mask_replacements
    count = len(replacements)
    assert count > 10_000
    found = np.bincount(replacements + 1, minlength=10) / count
    expected = np.full(10, random_fraction / 9)
    expected[sampling.KEEP + 1] = 1 - mask_fraction - random_fraction
    expected[MASK + 1] += mask_fraction
    assert (
        np.abs(found - expected) <= 5 * np.sqrt(np.abs(expected * (1 - expected)) / count) + 1e-12
    ).all()


def test_the_default_rule_is_exactly_the_original():
    """The original BERT compares its random numbers with 0.8 and 0.5."""
    assert masking.keep_probability(masking.MASK_FRACTION, masking.RANDOM_FRACTION) == 0.5


@pytest.mark.parametrize(
    "settings_class", [InstanceSettings, functools.partial(PretrainingSettings, masking="dynamic")]
)
def test_fractions_of_more_than_one(settings_class):
    with rejects("mask_fraction", "must be at most 1 together", "`random_fraction`=0", value=0.7):
        settings_class(mask_fraction=0.7, random_fraction=0.31)


@pytest.mark.parametrize("end", [0, 2])
def test_random_tokens_of_a_vocabulary_with_duplicate_and_blank_lines(tmp_path, end):
    """The original samples one of the keys of its dict, in their order, and converts it to an ID.

    A model does not have the IDs of blank lines at the end.
    """
    path = tmp_path / "vocab.txt"
    path.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n\nb\na\n\n##s\n" + "\n" * end)
    vocabulary = masking.Vocabulary.from_tokenizer(BertTokenizer(str(path)))
    expected = [0, 1, 2, 3, 4, 8, 9, 7, 10] if not end else [0, 1, 2, 3, 4, 8, 7, 10]
    assert vocabulary.random_ids.tolist() == expected
    settings = InstanceSettings(16, 4, mask_fraction=0, random_fraction=1, dupe_factor=50)
    corpus = Corpus(
        np.array([8, 7, 7, 8, 7, 8, 8], np.uint16),
        np.array([0, 2, 5, 7]),
        np.arange(4),
        num_bytes=0,
    )
    replaced = create_instances(
        corpus, settings, vocabulary, create_random_state(1)
    ).mask_replacements
    assert set(replaced.tolist()) == {*vocabulary.random_ids.tolist()}
