"""Sequences of the objectives other than the sentence pairs of the original BERT."""

import numpy as np
import pytest

from data_prep.pretraining.instances import InstanceSettings, masking
from tests.data_prep.pretraining.instances.toy_corpora import CLS, SEP, create_records, make_corpus
from tests.errors import rejects

DOCUMENTS = [[3, 2, 4], [9], [1], [1, 1], [7, 30, 2], [5, 5, 5, 5]]  # lengths of sentences


def create(documents, **settings):
    return create_records(
        make_corpus(*documents),
        InstanceSettings(
            **{"max_seq_length": 16, "max_predictions_per_seq": 4, "dupe_factor": 1, **settings}
        ),
    )


def unmask(features):
    """Returns the IDs of each record before masking, without padding."""
    ids = features["input_ids"].copy()
    rows, columns = np.nonzero(features["masked_lm_weights"])
    ids[rows, features["masked_lm_positions"][rows, columns]] = features["masked_lm_ids"][
        rows, columns
    ]
    return [row[mask > 0].tolist() for row, mask in zip(ids, features["input_mask"], strict=True)]


def cut_plainly(documents, max_length, crosses_documents):
    """Returns the sequences of documents, each a list of IDs, computed sentence by sentence."""
    found = []
    current = []
    previous = None
    first = 100
    for document, lengths in enumerate(documents):
        for length in lengths:
            rest = list(range(first, first + length))
            first += length
            while rest:
                separator = [SEP] if previous not in (None, document) else []
                if current and (
                    len(current + separator + rest) + 2 > max_length
                    or (separator and not crosses_documents)
                ):
                    found.append([CLS, *current, SEP])
                    current = []
                    previous = None
                    continue
                current += separator + rest[: max_length - 2]
                rest = rest[max_length - 2 :]
                previous = document
    return [*found, [CLS, *current, SEP]]


@pytest.mark.parametrize("max_length", [5, 11, 12, 16, 40, 200])
@pytest.mark.parametrize("objective", ["full_sentences", "doc_sentences"])
def test_sequences_hold_as_many_sentences_as_fit(objective, max_length):
    instances, features = create(
        DOCUMENTS,
        objective=objective,
        max_seq_length=max_length,
        max_predictions_per_seq=max_length,
    )
    expected = cut_plainly(DOCUMENTS, max_length, objective == "full_sentences")
    assert [unmask(features)[row] for row in np.argsort(instances.order)] == expected
    assert not features["segment_ids"].any()
    assert set(features) == {
        "input_ids",
        "input_mask",
        "segment_ids",
        "masked_lm_positions",
        "masked_lm_ids",
        "masked_lm_weights",
    }
    assert instances.lengths.tolist() == list(map(len, expected))


@pytest.mark.parametrize("whole_words", [False, True])
def test_masks_of_sequences(whole_words):
    """Never on [CLS] or [SEP]; different in each pass."""
    instances, features = create(
        DOCUMENTS * 20,
        objective="full_sentences",
        dupe_factor=2,
        max_seq_length=30,
        max_predictions_per_seq=5,
        do_whole_word_mask=whole_words,
    )
    weights = features["masked_lm_weights"] > 0
    wanted = [
        masking.number_to_predict(length, 0.15, 5) for length in features["input_mask"].sum(axis=1)
    ]
    assert (weights.sum(axis=1) <= wanted).all()
    assert whole_words or (weights.sum(axis=1) == wanted).all()
    assert (features["masked_lm_ids"][weights] >= 100).all()
    first, second = np.split(instances.parts, 2)
    np.testing.assert_array_equal(first, second)
    middle = instances.mask_starts[len(instances) // 2]
    assert instances.mask_positions[:middle].tolist() != instances.mask_positions[middle:].tolist()


def test_segment_pairs_are_sentence_pairs_without_a_label():
    _, with_label = create(DOCUMENTS)
    _, without = create(DOCUMENTS, objective="segment_pairs")
    assert set(with_label) - set(without) == {"next_sentence_labels"}
    for name, values in without.items():
        np.testing.assert_array_equal(values, with_label[name])


@pytest.mark.parametrize(
    "packing", [{}, {"pack_sequences": True, "max_seq_length": 48}], ids=["unpacked", "packed"]
)
def test_left_to_right_records_are_unmasked_segment_pairs(packing):
    instances, expected = create(DOCUMENTS, objective="segment_pairs", masking="dynamic", **packing)
    found_instances, found = create(
        DOCUMENTS, objective="left_to_right", max_predictions_per_seq=20, **packing
    )
    assert not any(name.startswith("masked_lm") for name in found)
    assert len(found_instances) == len(instances)
    assert found_instances.num_records <= instances.num_records  # No number of masks limits a pack.
    if not packing:
        assert found.keys() == expected.keys()
        for name, values in expected.items():
            np.testing.assert_array_equal(found[name], values)
    assert InstanceSettings(objective="left_to_right").num_passes == 1


def test_sentence_order_swaps_two_consecutive_parts():
    instances, features = create(
        DOCUMENTS * 30, objective="sentence_order", short_seq_prob=0.0, max_seq_length=60
    )
    spans = instances.parts.reshape(-1, 4)
    swapped = instances.labels
    assert 0.4 < swapped.mean() < 0.6
    assert (spans[~swapped, 1] == spans[~swapped, 2]).all()
    assert (spans[swapped, 3] == spans[swapped, 0]).all()
    assert (
        features["sentence_order_labels"][:, 0].tolist()
        == swapped[instances.order].astype(int).tolist()
    )
    document_starts = np.cumsum([sum(lengths) for lengths in DOCUMENTS * 30])
    documents = np.searchsorted(document_starts, spans, side="right")
    assert (documents[:, 0] == documents[:, 2]).all()
    # Every token is in one pair, except in documents of a single token, which cannot be split.
    counts = np.bincount(
        np.concatenate([np.arange(*part) for part in instances.parts]),
        minlength=document_starts[-1],
    )
    assert counts.max() == 1
    assert (counts == 0).sum() == 30


def test_documents_of_one_token_have_no_order():
    with rejects(None, "no sequence", "only one token"):
        create([[1], [1]], objective="sentence_order")
