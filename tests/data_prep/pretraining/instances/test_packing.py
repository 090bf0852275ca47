"""Several sequences in a record."""

import dataclasses

import numpy as np
import pytest

from data_prep.pretraining.instances import InstanceSettings
from data_prep.pretraining.instances.packing import compute_packs
from tests.data_prep.pretraining.instances.toy_corpora import create_records, make_corpus


def pack(lengths, max_ids, max_sequences=12, max_predictions=1000):
    counts = np.bincount(lengths, minlength=max_ids + 1)
    numbers = [0, *(max(1, round(0.15 * length)) for length in range(1, max_ids + 1))]
    return dict(compute_packs(counts, numbers, max_ids, max_predictions, max_sequences))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        # 4 joins 6, then 3 joins 7. Of three packs of 10 IDs, one gets 2.
        (([10, 7, 6, 4, 3, 2], 12), {(10,): 1, (7, 3): 1, (6, 4, 2): 1}),
        (([100] * 12, 512, 3), {(100,) * 3: 4}),
        (([20, 20, 6], 100, 12, 4), {(20, 6): 1, (20,): 1}),
    ],
)
def test_packs_by_hand(arguments, expected):
    assert pack(*arguments) == expected


def test_packs_of_random_lengths_are_complete_and_full():
    lengths = np.clip(np.random.default_rng(0).normal(256, 120, 20_000).astype(int), 5, 512)
    packs = pack(lengths, 512)
    packed = np.concatenate([np.repeat(kind, count) for kind, count in packs.items()])
    np.testing.assert_array_equal(np.sort(packed), np.sort(lengths))
    assert max(map(sum, packs)) <= 512
    assert max(map(len, packs)) <= 12
    assert lengths.sum() / (512 * sum(packs.values())) > 0.99


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"objective": "sentence_order"},
        {"objective": "doc_sentences"},
        {"masking": "dynamic"},
        {"max_sequences_per_pack": 2},
    ],
)
def test_packed_records_hold_the_unpacked_sequences(changes):
    corpus = make_corpus(*np.random.default_rng(1).integers(1, 12, [50, 4]).tolist())
    settings = InstanceSettings(
        **{
            "max_seq_length": 48,
            "max_predictions_per_seq": 8,
            "dupe_factor": 2,
            "short_seq_prob": 0.1 if "objective" in changes else 0.9,
            "pack_sequences": True,
            **changes,
        }
    )
    instances, features = create_records(corpus, settings)
    single_instances, single = create_records(
        corpus, dataclasses.replace(settings, pack_sequences=False, max_sequences_per_pack=12)
    )
    assert instances.num_records < single_instances.num_records == len(instances)

    max_sequences = settings.max_sequences_per_pack
    label = settings.objective_spec.sentence_label
    assert features["input_mask"].max() <= max_sequences
    found = []
    for row, numbers in enumerate(features["input_mask"]):
        for number in range(1, numbers.max() + 1):
            (positions,) = np.nonzero(numbers == number)
            assert (np.diff(positions) == 1).all()
            assert features["positions"][row][positions].tolist() == list(range(len(positions)))
            found.append(extract_sequence(features, row, positions, label and number - 1))
            if label:
                assert features[f"{label}_positions"][row, number - 1] == positions[0]
        if label:
            assert features[f"{label}_weights"][row].tolist() == [1] * numbers.max() + [0] * (
                max_sequences - numbers.max()
            )
    expected = [
        extract_sequence(single, row, np.flatnonzero(mask), label and 0)
        for row, mask in enumerate(single["input_mask"])
    ]
    assert sorted(found) == sorted(expected)


def extract_sequence(features, row, positions, number):
    """A sequence of a record as lists: IDs, segments, masks with their positions, and label."""
    masks = []
    if "masked_lm_positions" in features:
        columns = (features[f"masked_lm_{name}"][row] for name in ("positions", "ids", "weights"))
        masks = [
            (int(position - positions[0]), int(id_))
            for position, id_, weight in zip(*columns, strict=True)
            if weight and position in positions
        ]
    label = []
    if number is not None:
        label = [
            int(values[row, number])
            for name, values in features.items()
            if name.endswith("_labels")
        ]
    return [
        features["input_ids"][row][positions].tolist(),
        features["segment_ids"][row][positions].tolist(),
        masks,
        label,
    ]
