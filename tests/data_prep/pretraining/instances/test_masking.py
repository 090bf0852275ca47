"""Which pieces are masked, by what."""

import functools

import numpy as np
import pytest

from data_prep.pretraining.corpus import Corpus
from data_prep.pretraining.instances import InstanceSettings, draws, instances, masking, sentence_pairs

VOCABULARY = masking.Vocabulary(size=9, cls_id=1, sep_id=2, mask_id=3,
                                is_continuation=np.arange(9) == 8)  # piece 8 is "##..."


class ScriptedDraws:
    """Stands in for random.Random: shuffling reverses, other draws are those given."""

    def __init__(self, randoms=(), integers=()):
        self.randoms, self.integers = list(randoms), list(integers)

    def shuffle(self, items):
        items.reverse()

    def random(self):
        return self.randoms.pop(0)

    def randint(self, low, high):
        assert (low, high) == (0, VOCABULARY.size - 1)
        return self.integers.pop(0)


def make_masker(rng, tokens=(), **settings):
    """A function of a pair's span, as four numbers: positions and replacements of its masks, in the order drawn."""
    return functools.partial(draw_masks, rng, InstanceSettings(max_seq_length=20, **settings), tokens)


def draw_masks(rng, settings, tokens, *span):
    tokens = np.array(tokens, np.uint16)
    text = instances.text_of(Corpus(tokens, np.arange(2), np.arange(2), 0), settings, VOCABULARY)
    drawn = sentence_pairs.room(1, settings)
    drawn.parts[:] = span
    count = draws.draw_masks(rng, 0, 2, text, instances.rules_of(settings, VOCABULARY), drawn, 0)
    return drawn.mask_positions[:count].tolist(), drawn.mask_replacements[:count].tolist()


@pytest.mark.parametrize(("length", "probability", "most", "expected"), [
    (128, 0.15, 20, 19),  # 19.2
    (128, 0.15, 18, 18),
    (3, 0.15, 20, 1),  # 0.45, but at least one
    (10, 0.25, 20, 2), (14, 0.25, 20, 4),  # 2.5 and 3.5 go to the even number, as Python rounds
])
def test_number_to_predict(length, probability, most, expected):
    assert masking.number_to_predict(length, probability, most) == expected


def test_draws_of_single_pieces():
    # [CLS] a a a [SEP] b b [SEP]: 8 places, of which 0.4 * 8 = 3.2 are masked, the last three that may be
    rng = ScriptedDraws(randoms=[0.79, 0.8, 0.49, 0.9, 0.5], integers=[6])

    positions, replacements = make_masker(rng, masked_lm_prob=0.4)(10, 13, 5, 7)

    assert positions == [6, 5, 3]
    assert replacements == [VOCABULARY.mask_id, draws.KEEP, 6]
    assert rng.randoms == []


def test_words_are_masked_whole():
    # places:  [CLS] 4 8 8 [SEP] 5 8 6 [SEP], so the words, reversed, are (7), (5, 6), (1, 2, 3)
    tokens = [7, 4, 8, 8, 7, 7, 5, 8, 6]
    rng = ScriptedDraws(randoms=[0.1] * 6)

    def positions(probability):
        masker = make_masker(rng, tokens, masked_lm_prob=probability, do_whole_word_mask=True)
        return masker(1, 4, 6, 9)[0]

    assert positions(0.33) == [7, 5, 6]
    assert positions(0.22) == [7]  # a second one would fit, but no word has one piece


def test_a_word_that_is_too_long_is_passed_over():
    # places: [CLS] 5 4 8 8 [SEP] 6 [SEP], so the words, reversed, are (6), (2, 3, 4), (1)
    masker = make_masker(ScriptedDraws(randoms=[0.1] * 2), [5, 4, 8, 8, 6], masked_lm_prob=0.3,
                         do_whole_word_mask=True)

    assert masker(0, 4, 4, 5)[0] == [6, 1]


def test_a_rest_of_a_word_joins_the_word_before_it():
    # places: [CLS] 8 4 [SEP] 8 5 [SEP]; nothing is before the first 8; the second one joins 4 across [SEP]
    masker = make_masker(ScriptedDraws(randoms=[0.1] * 9), [8, 4, 8, 5], masked_lm_prob=1, do_whole_word_mask=True)

    assert masker(0, 2, 2, 4)[0] == [5, 2, 4, 1]


@pytest.mark.parametrize("whole_words", [False, True])
def test_shares(whole_words):
    tokens = np.array([4, 8, 5, 6, 7] * 4)
    masker = make_masker(draws.RandomDraws(5), tokens, do_whole_word_mask=whole_words)
    masks = [masker(0, 8, 10, 17) for _ in range(4000)]  # of 18 places 2.7 are to be masked, so 3
    replacements = np.concatenate([replacements for _, replacements in masks])
    places = np.concatenate([positions for positions, _ in masks])

    assert {len(positions) for positions, _ in masks} == {3}
    assert all(len(set(positions)) == len(positions) for positions, _ in masks)
    assert set(places) == set(range(1, 9)) | set(range(10, 17))
    # 80 % [MASK], 10 % kept, 10 % any of nine pieces; 12,000 draws, five standard deviations
    assert np.mean(replacements == VOCABULARY.mask_id) == pytest.approx(0.8 + 0.1 / 9, abs=0.019)
    assert np.mean(replacements == draws.KEEP) == pytest.approx(0.1, abs=0.014)
    assert set(replacements) == {draws.KEEP, *range(9)}


def test_vocabulary_of_a_tokenizer():
    class Tokenizer:
        vocabulary = ("[PAD]", "[CLS]", "a", "##a", "#")
        vocab_size, cls_id, sep_id, mask_id = 5, 1, 2, 3

    vocabulary = masking.Vocabulary.of_tokenizer(Tokenizer())

    assert (vocabulary.size, vocabulary.cls_id, vocabulary.sep_id, vocabulary.mask_id) == (5, 1, 2, 3)
    assert vocabulary.is_continuation.tolist() == [False, False, False, True, False]
