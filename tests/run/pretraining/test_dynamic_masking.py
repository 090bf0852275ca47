"""Masks sampled during training: their positions, replacements, and what they depend on."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from data_prep.pretraining import InstanceSettings
from data_prep.pretraining.instances import arrays, masking, sampling
from run.pretraining import dynamic_masking

pytestmark = pytest.mark.large

S = 64
P = 12
V = 31
CLS = 1
SEP = 2
MASK = 3
CONTINUATIONS = range(24, V)
VOCABULARY = masking.Vocabulary(np.arange(V), CLS, SEP, MASK, np.arange(V) >= 24)
# Published output of SplitMix64 for seed 1234567.
SPLITMIX64 = [6457827717110365317, 3203168211198807973, 9817491932198370423]
SEED = 7
LENGTHS = np.random.default_rng(1).integers(5, S + 1, 500)


def make_pairs(count, lengths, seed=3, lowest=4):
    """Creates unmasked records of the tokens `lowest` to 30.

    The last seven of these tokens continue a word.
    """
    generator = np.random.default_rng(seed)
    lengths = np.broadcast_to(lengths, count)
    positions = np.arange(S)
    is_real = positions < lengths[:, np.newaxis]
    ids = np.where(is_real, generator.integers(lowest, V, (count, S)), 0)
    middles = generator.integers(2, lengths - 2)
    ids[:, 0] = CLS
    ids[np.arange(count), middles] = ids[np.arange(count), lengths - 1] = SEP
    return {
        "input_ids": ids.astype(np.int32),
        "input_mask": is_real.astype(np.int32),
        "segment_ids": (is_real & (positions > middles[:, np.newaxis])).astype(np.int32),
        "next_sentence_labels": generator.integers(0, 2, (count, 1)).astype(np.int32),
    }


def mask(pairs, epochs=0, numbers=None, seed=SEED, batch=None, **settings):
    """Masks records in a graph, `batch` at a time; returns a dict of arrays."""
    count = len(pairs["input_ids"])
    numbers = np.arange(count) if numbers is None else numbers
    settings = InstanceSettings(max_seq_length=S, **{"max_predictions_per_seq": P, **settings})
    data = tf.data.Dataset.from_tensor_slices(
        (pairs, np.broadcast_to(epochs, count).astype(np.int64), np.asarray(numbers, np.int64))
    )
    masker = dynamic_masking.make_masker(settings, VOCABULARY, seed)
    batches = [*data.batch(batch or count).map(masker).as_numpy_iterator()]
    return {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}


def get_positions(masked, row):
    """Returns the masked positions of a record, a list."""
    return masked["masked_lm_positions"][row, masked["masked_lm_weights"][row] == 1].tolist()


@pytest.fixture(scope="module")
def pairs():
    return make_pairs(500, LENGTHS)


@pytest.mark.parametrize("whole_words", [False, True])
def test_properties_of_every_record(pairs, whole_words):
    masked = mask(pairs, do_whole_word_mask=whole_words)
    assert {
        name: (value.shape, value.dtype)
        for name, value in masked.items()
        if name.startswith("masked")
    } == {
        "masked_lm_positions": ((500, P), np.int32),
        "masked_lm_ids": ((500, P), np.int32),
        "masked_lm_weights": ((500, P), np.float32),
    }
    for name in ("input_mask", "segment_ids", "next_sentence_labels"):
        np.testing.assert_array_equal(masked[name], pairs[name])
    restored = masked["input_ids"].copy()
    for row, length in enumerate(pairs["input_mask"].sum(axis=1)):
        positions = get_positions(masked, row)
        ids = masked["masked_lm_ids"][row]
        wanted = min(P, max(1, round(length * 0.15)))
        assert len(positions) <= wanted
        if not whole_words:
            assert len(positions) == wanted
        assert positions == sorted(set(positions))
        assert max(positions, default=0) < length  # None in the padding.
        assert not set(ids[: len(positions)]) & {0, CLS, SEP}
        np.testing.assert_array_equal(
            masked["masked_lm_weights"][row], np.arange(P) < len(positions)
        )
        assert not ids[len(positions) :].any()
        assert not masked["masked_lm_positions"][row, len(positions) :].any()
        restored[row, positions] = ids[: len(positions)]
    np.testing.assert_array_equal(restored, pairs["input_ids"])


def splitmix(state, index):
    """Returns the 0-based item `index` of the sequence of a state, with Python's integers."""
    value = (state + (index + 1) * 0x9E3779B97F4A7C15) % 2**64
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    value = (value ^ value >> 27) * 0x94D049BB133111EB % 2**64
    return value ^ value >> 31


def test_random_numbers_are_splitmix64():
    assert [splitmix(1234567, index) for index in range(3)] == SPLITMIX64
    draws = dynamic_masking._RandomNumbers(
        SEED, tf.constant([5], tf.int64), tf.constant([11], tf.int64)
    )
    state = 0
    for number in (SEED, 5, 11):
        state = splitmix((state + number - 0x9E3779B97F4A7C15) % 2**64, 0)  # Only the mixer.
    for num_bits in (32, 62):
        assert draws.bits(tf.constant([[0, 6]]), num_bits).numpy().tolist() == [
            [splitmix(state, index) >> 64 - num_bits for index in (0, 6)]
        ]


@dataclasses.dataclass(frozen=True)
class MaskingRules:
    """Rules of masking.

    Attributes:
      lowest: int. Lowest ID of a token.
      whole_words: bool. Whether complete words are masked.
      probability: float. Fraction of the tokens that are masked.
      max_masks: int. Maximum number of masked tokens.
    """

    lowest: int
    whole_words: bool
    probability: float
    max_masks: int


@pytest.mark.parametrize(
    "case",
    [
        MaskingRules(lowest=4, whole_words=False, probability=0.15, max_masks=P),
        MaskingRules(lowest=4, whole_words=True, probability=0.3, max_masks=40),
        MaskingRules(lowest=4, whole_words=False, probability=1.0, max_masks=80),
        MaskingRules(lowest=4, whole_words=True, probability=0.01, max_masks=5),
        MaskingRules(lowest=22, whole_words=True, probability=0.15, max_masks=3),
        MaskingRules(lowest=23, whole_words=True, probability=0.15, max_masks=30),
    ],
)
def test_positions_are_those_of_the_record_maker(monkeypatch, case):
    """The code that masks records samples the same positions, if words have the same order.

    The order is that of our random numbers. From `lowest` 22 on, words have so many tokens that few
    fit.
    """
    pairs = make_pairs(500, S if case.lowest > 4 else LENGTHS, lowest=case.lowest)
    masked = mask(
        pairs,
        masked_lm_prob=case.probability,
        max_predictions_per_seq=case.max_masks,
        do_whole_word_mask=case.whole_words,
    )
    draws = dynamic_masking._RandomNumbers(
        SEED, tf.zeros([500], tf.int64), tf.range(500, dtype=tf.int64)
    )
    keys = draws.bits(tf.range(1, S)[tf.newaxis], 62).numpy()
    numbers = [
        masking.number_to_predict(length, case.probability, case.max_masks)
        for length in range(S + 1)
    ]
    rules = arrays.Rules(S - 3, 0.1, False, numbers, case.whole_words, MASK, np.arange(V), 0.8, 0.5)
    monkeypatch.setattr(sampling, "random_fraction", lambda state: 0.0)  # [MASK] for all tokens.
    monkeypatch.setattr(sampling, "shuffle", order_words)
    for row, ids in enumerate(pairs["input_ids"]):
        length = pairs["input_mask"][row].sum()
        middle = ids.tolist().index(SEP)
        buffers = arrays.InstanceBuffers(*(np.zeros(S + 1, np.int64) for _ in range(7)))
        buffers.word_starts[:] = range(S + 1)
        buffers.parts[:4] = 1, middle, middle + 1, length - 1
        count = sampling.sample_masks(
            keys[row],
            0,
            2,
            arrays.Text([], [], [], np.isin(ids, CONTINUATIONS)),
            rules,
            buffers,
            0,
        )
        assert get_positions(masked, row) == sorted(buffers.mask_positions[:count])


def order_words(keys, words, count):
    """Puts words into the order of their keys, instead of shuffling them."""
    words[:count] = np.argsort(keys[:count], kind="stable")


def test_masks_depend_only_on_seed_epoch_and_number(pairs):
    whole = mask(pairs)
    for batch in (7, 128):
        parts = mask(pairs, batch=batch)
        for name in whole:
            np.testing.assert_array_equal(parts[name], whole[name])
    order = np.random.default_rng(2).permutation(500)
    shuffled = mask({name: value[order] for name, value in pairs.items()}, numbers=order)
    np.testing.assert_array_equal(shuffled["input_ids"], whole["input_ids"][order])
    # Two samples of about 5 of 32 positions are rarely equal.
    for other in (
        mask(pairs, epochs=1),
        mask(pairs, seed=SEED + 1),
        mask(pairs, numbers=np.arange(1, 501)),
    ):
        same = (other["masked_lm_positions"] == whole["masked_lm_positions"]).all(axis=1)
        assert same.mean() < 0.1
        assert (other["input_ids"] == whole["input_ids"]).mean() < 0.9


@pytest.mark.parametrize(
    ("mask_fraction", "random_fraction"), [(0.8, 0.1), (1, 0), (0, 1), (0.3, 0.6)]
)
@pytest.mark.parametrize("whole_words", [False, True])
def test_frequencies_of_replacements(mask_fraction, random_fraction, whole_words):
    """10,000 records of 19 words of two tokens have 6 predictions each.

    Frequencies are within 5 standard deviations; 0 and 1 are exact.
    """
    pair = make_pairs(1, 41)
    ids = pair["input_ids"][0]
    ids[ids > SEP] = [5, 24] * 19
    masked = mask(
        {name: np.repeat(value, 10_000, axis=0) for name, value in pair.items()},
        epochs=4,
        batch=1000,
        do_whole_word_mask=whole_words,
        mask_fraction=mask_fraction,
        random_fraction=random_fraction,
    )
    labels = masked["masked_lm_ids"][:, :6]
    inputs = np.take_along_axis(masked["input_ids"], masked["masked_lm_positions"][:, :6], axis=1)
    shares = dict.fromkeys(range(V), random_fraction / V)  # Special tokens too.
    shares[MASK] += mask_fraction
    found = [
        ((inputs == piece) & (labels != piece), share)
        for piece, share in shares.items()
        if piece not in (5, 24)
    ]
    found.append((inputs == labels, 1 - mask_fraction - random_fraction + random_fraction / V))
    if whole_words:  # Each token of a word has its own random number.
        found.append(((inputs == MASK).reshape(-1, 2).all(axis=1), shares[MASK] ** 2))
    for is_found, share in found:
        assert (
            abs(is_found.mean() - share)
            <= 5 * np.sqrt(max(share * (1 - share), 0) / is_found.size) + 1e-12
        )
