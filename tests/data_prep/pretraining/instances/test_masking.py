"""Selection of masked tokens and their replacements."""

import functools

import numpy as np
import pytest

from bert_tf.errors import InputError
from bert_tf.tokenization import BertTokenizer
from data_prep.pretraining.corpus import Corpus
from data_prep.pretraining.instances import InstanceSettings, Sampler, instances, masking, sampling
from run.pretraining.settings import RecordSettings

VOCABULARY = masking.Vocabulary(random_ids=np.arange(9), cls_id=1, sep_id=2, mask_id=3,
                                is_continuation=np.arange(9) == 8)  # token 8 is "##..."


class ScriptedNumbers:
    """Given numbers instead of random numbers. Shuffling reverses."""

    def __init__(self, monkeypatch, fractions=(), integers=()):
        self.fractions, self.integers = list(fractions), list(integers)
        monkeypatch.setattr(sampling, "shuffle", self.reverse)
        monkeypatch.setattr(sampling, "random_fraction", lambda state: self.fractions.pop(0))
        monkeypatch.setattr(sampling, "random_integer", self.pop_integer)

    def reverse(self, state, items, count):
        items[:count] = items[:count][::-1].copy()

    def pop_integer(self, state, low, high):
        assert (low, high) == (0, len(VOCABULARY.random_ids) - 1)
        return self.integers.pop(0)


def prepare(settings, tokens, num_pairs):
    tokens = np.array(tokens, np.uint16)
    text = instances.create_text(Corpus(tokens, np.arange(2), np.arange(2), 0), settings, VOCABULARY)
    return text, instances.create_rules(settings, VOCABULARY), instances.create_buffers(num_pairs, settings)


def sample_masks(tokens, span, **settings):
    """Samples the masks of a pair, whose span is four numbers: positions and replacements, in sampling order."""
    text, rules, buffers = prepare(InstanceSettings(max_seq_length=20, **settings), tokens, 1)
    buffers.parts[:] = span
    count = sampling.sample_masks(None, 0, 2, text, rules, buffers, 0)
    return buffers.mask_positions[:count].tolist(), buffers.mask_replacements[:count].tolist()


@pytest.mark.parametrize(("length", "probability", "most", "expected"), [
    (128, 0.15, 20, 19),  # 19.2
    (128, 0.15, 18, 18),
    (3, 0.15, 20, 1),  # 0.45, but at least one
    (10, 0.25, 20, 2), (14, 0.25, 20, 4),  # 2.5 and 3.5 become the even number, as Python rounds
])
def test_number_to_predict(length, probability, most, expected):
    assert masking.number_to_predict(length, probability, most) == expected


def test_single_tokens(monkeypatch):
    # [CLS] a a a [SEP] b b [SEP]: of 8 positions 0.4 * 8 = 3.2 are masked, the last three that can be.
    numbers = ScriptedNumbers(monkeypatch, [0.79, 0.8, 0.49, 0.9, 0.5], [6])
    positions, replacements = sample_masks([], (10, 13, 5, 7), masked_lm_prob=0.4)
    assert positions == [6, 5, 3]
    assert replacements == [VOCABULARY.mask_id, sampling.KEEP, 6]
    assert numbers.fractions == []


@pytest.mark.parametrize(("tokens", "span", "probability", "expected"), [
    # [CLS] 4 8 8 [SEP] 5 8 6 [SEP]: the words, reversed, are at (7), (5, 6), (1, 2, 3).
    ([7, 4, 8, 8, 7, 7, 5, 8, 6], (1, 4, 6, 9), 0.33, [7, 5, 6]),
    ([7, 4, 8, 8, 7, 7, 5, 8, 6], (1, 4, 6, 9), 0.22, [7]),  # a second token would fit, but no word has one token
    # [CLS] 5 4 8 8 [SEP] 6 [SEP]: the words, reversed, are at (6), (2, 3, 4), (1). The second is too long.
    ([5, 4, 8, 8, 6], (0, 4, 4, 5), 0.3, [6, 1]),
    # [CLS] 8 4 [SEP] 8 5 [SEP]: the first 8 has no word before it, and the second continues 4 across [SEP].
    ([8, 4, 8, 5], (0, 2, 2, 4), 1, [5, 2, 4, 1]),
])
def test_whole_words(monkeypatch, tokens, span, probability, expected):
    ScriptedNumbers(monkeypatch, [0.1] * 6)
    assert sample_masks(tokens, span, masked_lm_prob=probability, do_whole_word_mask=True)[0] == expected


@pytest.mark.parametrize("whole_words", [False, True])
def test_fractions_of_replacements(whole_words):
    tokens = np.array([4, 8, 5, 6, 7] * 4)
    text, rules, buffers = prepare(InstanceSettings(max_seq_length=20, do_whole_word_mask=whole_words), tokens, 4000)
    buffers.parts.reshape(-1, 4)[:] = 0, 8, 10, 17
    count = Sampler(5).sample_all_masks(np.arange(0, 8001, 2), text, rules, buffers)
    replacements, positions = buffers.mask_replacements[:count], buffers.mask_positions[:count]
    assert (buffers.mask_counts == 3).all()  # 2.7 of 18 positions are required, so 3
    assert all(len(set(of_pair)) == 3 for of_pair in positions.reshape(-1, 3).tolist())
    assert set(positions) == set(range(1, 9)) | set(range(10, 17))
    # 80% [MASK], 10% unchanged, 10% any of nine tokens; 12,000 masks, five standard deviations.
    assert np.mean(replacements == VOCABULARY.mask_id) == pytest.approx(0.8 + 0.1 / 9, abs=0.019)
    assert np.mean(replacements == sampling.KEEP) == pytest.approx(0.1, abs=0.014)
    assert set(replacements) == {sampling.KEEP, *range(9)}


@pytest.mark.parametrize(("mask_fraction", "random_fraction"), [
    (1, 0), (0, 1), (0, 0), (0, 0.25), (0.25, 0.75), (0.3, 0.6), (0.7, 0.3)])
def test_other_fractions_of_replacements(mask_fraction, random_fraction):
    """12,000 masks; five standard deviations of each fraction, so 0 and 1 are exact."""
    text, rules, buffers = prepare(InstanceSettings(
        max_seq_length=20, mask_fraction=mask_fraction, random_fraction=random_fraction), [4, 8, 5, 6, 7] * 4, 4000)
    buffers.parts.reshape(-1, 4)[:] = 0, 8, 10, 17
    count = Sampler(5).sample_all_masks(np.arange(0, 8001, 2), text, rules, buffers)
    found = np.bincount(buffers.mask_replacements[:count] + 1, minlength=10) / count
    expected = np.full(10, random_fraction / 9)
    expected[sampling.KEEP + 1] = 1 - mask_fraction - random_fraction
    expected[VOCABULARY.mask_id + 1] += mask_fraction
    assert (np.abs(found - expected) <= 5 * np.sqrt(np.abs(expected * (1 - expected)) / count) + 1e-12).all()


def test_the_default_rule_is_exactly_the_original():
    """The original BERT compares its random numbers with 0.8 and 0.5."""
    rules = prepare(InstanceSettings(), [], 1)[1]
    assert (rules.mask_fraction, rules.keep_probability) == (0.8, 0.5)


@pytest.mark.parametrize(("settings", "message"), [
    ({"mask_fraction": 1.1}, "`mask_fraction`=1.1: must be at most 1"),
    ({"random_fraction": -0.1}, "`random_fraction`=-0.1: must be at least 0"),
    ({"mask_fraction": float("nan")}, "`mask_fraction`=nan: must be at least 0"),
    ({"mask_fraction": 0.7, "random_fraction": 0.31},
     "`mask_fraction`=0.7: must be at most 1 together with `random_fraction`=0.31")])
@pytest.mark.parametrize("settings_class", [InstanceSettings, functools.partial(RecordSettings, masking="dynamic")])
def test_invalid_fractions(settings_class, settings, message):
    with pytest.raises(InputError) as error:
        settings_class(**settings)
    assert str(error.value) == message


@pytest.mark.parametrize(("pieces", "share"), [
    (["猫", "犬", "##猫", "the"], "75%"), (["猫", "the", "##s", "𠀀"], None), (["猫犬", "cat", "##s", "猫"], None)])
def test_whole_words_of_chinese(pieces, share):
    note = masking.describe_chinese(InstanceSettings(do_whole_word_mask=True), pieces)
    assert note == (f"note: {share} of the vocabulary are Chinese characters, each of which is a word, so "
                    "`do_whole_word_mask` has no effect on them" if share else "")
    assert masking.describe_chinese(InstanceSettings(), pieces) == ""


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
    corpus = Corpus(np.array([8, 7, 7, 8, 7, 8, 8], np.uint16), np.array([0, 2, 5, 7]), np.arange(4), num_bytes=0)
    replaced = instances.create_instances(corpus, settings, vocabulary, Sampler(1)).mask_replacements
    assert set(replaced.tolist()) == {*vocabulary.random_ids.tolist()}
