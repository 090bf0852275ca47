"""Several sequences in a record."""

import dataclasses

import numpy as np
import pytest

from data_prep.pretraining.corpus import Corpus
from data_prep.pretraining.instances import InstanceSettings, Sampler, assemble, create_instances, masking
from data_prep.pretraining.instances.packing import packs_of_lengths

VOCABULARY = masking.Vocabulary(size=1300, cls_id=1, sep_id=2, mask_id=3, is_continuation=np.zeros(1300, bool))


def pack(lengths, most_ids, most_sequences=12, most_predictions=1000):
    counts = np.bincount(lengths, minlength=most_ids + 1)
    numbers = [0, *(max(1, round(0.15 * length)) for length in range(1, most_ids + 1))]
    return dict(packs_of_lengths(counts, numbers, most_ids, most_predictions, most_sequences))


def test_a_sequence_joins_the_emptiest_pack_that_has_room():
    # 4 joins 6, then 3 joins 7; of three packs of 10 ids one gets 2.
    assert pack([10, 7, 6, 4, 3, 2], 12) == {(10,): 1, (7, 3): 1, (6, 4, 2): 1}


def test_sequences_of_one_length_fill_packs():
    assert pack([100] * 10, 512) == {(100,) * 5: 2}
    assert pack([100] * 12, 512, most_sequences=3) == {(100,) * 3: 4}


def test_predictions_bound_a_pack():
    assert pack([20, 20, 20, 20], 100, most_predictions=6) == {(20, 20): 2}  # 3 each
    assert pack([20, 20, 6], 100, most_predictions=4) == {(20, 6): 1, (20,): 1}


@pytest.mark.parametrize("seed", range(3))
def test_packs_of_random_lengths_hold_all_and_are_full(seed):
    lengths = np.clip(np.random.default_rng(seed).normal(256, 120, 20_000).astype(int), 5, 512)

    packs = pack(lengths, 512)

    packed = np.repeat(np.concatenate(list(packs)),
                       np.concatenate([[count] * len(kind) for kind, count in packs.items()]))
    assert np.bincount(packed, minlength=513).tolist() == np.bincount(lengths, minlength=513).tolist()
    assert max(map(sum, packs)) <= 512
    assert max(map(len, packs)) <= 12
    assert lengths.sum() / (512 * sum(packs.values())) > 0.99


@pytest.mark.parametrize("changes", [{}, {"objective": "sentence_order"}, {"objective": "doc_sentences"},
                                     {"masking": "dynamic"}, {"max_sequences_per_pack": 2}])
def test_packed_records_hold_the_unpacked_sequences(changes):
    lengths = np.random.default_rng(1).integers(1, 12, 200)
    corpus = Corpus(np.arange(100, 100 + lengths.sum()).astype(np.uint16) % 1200, np.cumsum([0, *lengths]),
                    np.arange(0, 201, 4), 0)
    settings = InstanceSettings(**{"max_seq_length": 48, "max_predictions_per_seq": 8, "dupe_factor": 2,
                                   "short_seq_prob": 0.1 if "objective" in changes else 0.9, "pack_sequences": True,
                                   **changes})
    alone = dataclasses.replace(settings, pack_sequences=False, max_sequences_per_pack=12)
    instances = {}
    for each in (settings, alone):
        made = create_instances(corpus, each, VOCABULARY, Sampler(3))
        instances[each.pack_sequences] = made, assemble(corpus, made, np.arange(made.num_records), each, VOCABULARY)
    (packed, features), (single, unpacked) = instances[True], instances[False]
    assert packed.num_records < single.num_records == len(packed)

    most = settings.max_sequences_per_pack
    assert features["input_mask"].max() <= most
    label = settings.what.sentence_label
    found, expected = [], []
    for row in range(packed.num_records):
        numbers = features["input_mask"][row]
        for number in range(1, numbers.max() + 1):
            (here,) = np.nonzero(numbers == number)
            assert (np.diff(here) == 1).all()
            assert features["positions"][row][here].tolist() == list(range(len(here)))
            found.append(sequence(features, row, here, label and number - 1))
            if label:
                assert features[f"{label}_positions"][row, number - 1] == here[0]
        if label:
            assert features[f"{label}_weights"][row].tolist() == [1] * numbers.max() + [0] * (most - numbers.max())
    for row in range(single.num_records):
        expected.append(sequence(unpacked, row, np.arange(unpacked["input_mask"][row].sum()), label and 0))
    assert sorted(found) == sorted(expected)


def sequence(features, row, here, place):
    """A sequence of a record as plain lists: its ids, segments, masks with their places in it, and label."""
    start = here[0]
    masks = []
    if "masked_lm_positions" in features:
        masks = [(int(position - start), int(masked)) for position, masked, weight in zip(*(
            features[f"masked_lm_{name}"][row] for name in ("positions", "ids", "weights")), strict=True)
            if weight and position in here]
    label = [] if place is None else [
        int(values[row, place]) for name, values in features.items() if name.endswith("_labels")]
    return [features["input_ids"][row][here].tolist(), features["segment_ids"][row][here].tolist(), masks, label]


def test_settings_that_have_no_effect():
    with pytest.raises(ValueError, match="`max_sequences_per_pack`=3: has no effect without `pack_sequences`"):
        InstanceSettings(max_sequences_per_pack=3)
    with pytest.raises(ValueError, match=r"`short_seq_prob`=0\.5: has no effect with `objective`=full_sentences"):
        InstanceSettings(objective="full_sentences", short_seq_prob=0.5)
