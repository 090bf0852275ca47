"""Which pieces are masked, by what."""

import functools

import numpy as np
import pytest

from data_prep.pretraining.corpus import Corpus
from data_prep.pretraining.instances import InstanceSettings, Sampler, instances, masking, sampling, sentence_pairs

VOCABULARY = masking.Vocabulary(size=9, cls_id=1, sep_id=2, mask_id=3,
                                is_continuation=np.arange(9) == 8)  # piece 8 is "##..."


class ScriptedNumbers:
    """Instead of random numbers: shuffling reverses, other numbers are those given."""

    def __init__(self, monkeypatch, fractions=(), integers=()):
        self.fractions, self.integers = list(fractions), list(integers)
        monkeypatch.setattr(sampling, "shuffle", self.reverse)
        monkeypatch.setattr(sampling, "random_fraction", lambda state: self.fractions.pop(0))
        monkeypatch.setattr(sampling, "random_integer", self.pop_integer)

    def reverse(self, state, items, count):
        items[:count] = items[:count][::-1].copy()

    def pop_integer(self, state, low, high):
        assert (low, high) == (0, VOCABULARY.size - 1)
        return self.integers.pop(0)


def make_masker(tokens=(), **settings):
    """A function of a pair's span, as four numbers: positions and replacements of its masks, in the order drawn."""
    return functools.partial(sample_masks, None, InstanceSettings(max_seq_length=20, **settings), tokens)


def prepare(settings, tokens, num_pairs):
    tokens = np.array(tokens, np.uint16)
    text = instances.create_text(Corpus(tokens, np.arange(2), np.arange(2), 0), settings, VOCABULARY)
    return text, instances.create_rules(settings, VOCABULARY), sentence_pairs.create_buffers(num_pairs, settings)


def sample_masks(state, settings, tokens, *span):
    text, rules, buffers = prepare(settings, tokens, 1)
    buffers.parts[:] = span
    count = sampling.sample_masks(state, 0, 2, text, rules, buffers, 0)
    return buffers.mask_positions[:count].tolist(), buffers.mask_replacements[:count].tolist()


@pytest.mark.parametrize(("length", "probability", "most", "expected"), [
    (128, 0.15, 20, 19),  # 19.2
    (128, 0.15, 18, 18),
    (3, 0.15, 20, 1),  # 0.45, but at least one
    (10, 0.25, 20, 2), (14, 0.25, 20, 4),  # 2.5 and 3.5 go to the even number, as Python rounds
])
def test_number_to_predict(length, probability, most, expected):
    assert masking.number_to_predict(length, probability, most) == expected


def test_single_tokens(monkeypatch):
    # [CLS] a a a [SEP] b b [SEP]: 8 places, of which 0.4 * 8 = 3.2 are masked, the last three that may be
    numbers = ScriptedNumbers(monkeypatch, [0.79, 0.8, 0.49, 0.9, 0.5], [6])

    positions, replacements = make_masker(masked_lm_prob=0.4)(10, 13, 5, 7)

    assert positions == [6, 5, 3]
    assert replacements == [VOCABULARY.mask_id, sampling.KEEP, 6]
    assert numbers.fractions == []


def test_words_are_masked_whole(monkeypatch):
    # places:  [CLS] 4 8 8 [SEP] 5 8 6 [SEP], so the words, reversed, are (7), (5, 6), (1, 2, 3)
    tokens = [7, 4, 8, 8, 7, 7, 5, 8, 6]
    ScriptedNumbers(monkeypatch, [0.1] * 6)

    def positions(probability):
        masker = make_masker(tokens, masked_lm_prob=probability, do_whole_word_mask=True)
        return masker(1, 4, 6, 9)[0]

    assert positions(0.33) == [7, 5, 6]
    assert positions(0.22) == [7]  # a second one would fit, but no word has one piece


def test_a_word_that_is_too_long_is_passed_over(monkeypatch):
    # places: [CLS] 5 4 8 8 [SEP] 6 [SEP], so the words, reversed, are (6), (2, 3, 4), (1)
    ScriptedNumbers(monkeypatch, [0.1] * 2)
    masker = make_masker([5, 4, 8, 8, 6], masked_lm_prob=0.3, do_whole_word_mask=True)

    assert masker(0, 4, 4, 5)[0] == [6, 1]


def test_a_rest_of_a_word_joins_the_word_before_it(monkeypatch):
    # places: [CLS] 8 4 [SEP] 8 5 [SEP]; nothing is before the first 8; the second one joins 4 across [SEP]
    ScriptedNumbers(monkeypatch, [0.1] * 9)
    masker = make_masker([8, 4, 8, 5], masked_lm_prob=1, do_whole_word_mask=True)

    assert masker(0, 2, 2, 4)[0] == [5, 2, 4, 1]


@pytest.mark.parametrize("whole_words", [False, True])
def test_shares(whole_words):
    tokens = np.array([4, 8, 5, 6, 7] * 4)
    text, rules, buffers = prepare(InstanceSettings(max_seq_length=20, do_whole_word_mask=whole_words), tokens, 4000)
    buffers.parts.reshape(-1, 4)[:] = 0, 8, 10, 17
    count = Sampler(5).sample_all_masks(np.arange(0, 8001, 2), text, rules, buffers)
    replacements, places = buffers.mask_replacements[:count], buffers.mask_positions[:count]

    assert (buffers.mask_counts == 3).all()  # of 18 places 2.7 are to be masked, so 3
    assert all(len(set(positions)) == 3 for positions in places.reshape(-1, 3).tolist())
    assert set(places) == set(range(1, 9)) | set(range(10, 17))
    # 80 % [MASK], 10 % kept, 10 % any of nine pieces; 12,000 masks, five standard deviations
    assert np.mean(replacements == VOCABULARY.mask_id) == pytest.approx(0.8 + 0.1 / 9, abs=0.019)
    assert np.mean(replacements == sampling.KEEP) == pytest.approx(0.1, abs=0.014)
    assert set(replacements) == {sampling.KEEP, *range(9)}


def test_vocabulary_of_a_tokenizer():
    class Tokenizer:
        vocabulary = ("[PAD]", "[CLS]", "a", "##a", "#")
        vocab_size, cls_id, sep_id, mask_id = 5, 1, 2, 3

    vocabulary = masking.Vocabulary.of_tokenizer(Tokenizer())

    assert (vocabulary.size, vocabulary.cls_id, vocabulary.sep_id, vocabulary.mask_id) == (5, 1, 2, 3)
    assert vocabulary.is_continuation.tolist() == [False, False, False, True, False]
