"""Sequences of the objectives beside the original's sentence pairs: where they are cut, what they hold."""

import numpy as np
import pytest

from data_prep.pretraining.corpus import Corpus
from data_prep.pretraining.instances import (
    InstanceSettings,
    Sampler,
    assemble,
    create_instances,
    masking,
    sentence_pairs,
    sequences,
)
from tests.data_prep.pretraining.instances.test_sentence_pairs import compiled_and_plain

CLS, SEP, MASK = 1, 2, 3
VOCABULARY = masking.Vocabulary(size=1300, cls_id=CLS, sep_id=SEP, mask_id=MASK,
                                is_continuation=np.arange(1300) % 3 == 1)
DOCUMENTS = [[3, 2, 4], [9], [1], [1, 1], [7, 30, 2], [5, 5, 5, 5]]  # lengths of sentences


def make_corpus(documents):
    """A corpus of documents, each a list of lengths of sentences; the tokens are 100, 101, ... 1299, 100, ..."""
    lengths = [length for document in documents for length in document]
    return Corpus((100 + np.arange(sum(lengths)) % 1200).astype(np.uint16), np.cumsum([0, *lengths]),
                  np.cumsum([0, *map(len, documents)]), num_bytes=0)


def written(corpus, **settings):
    """Instances of a corpus, their features record by record, and the settings."""
    settings = InstanceSettings(**{"max_seq_length": 16, "max_predictions_per_seq": 4, "dupe_factor": 1, **settings})
    made = create_instances(corpus, settings, VOCABULARY, Sampler(5))
    return made, assemble(corpus, made, np.arange(made.num_records), settings, VOCABULARY), settings


def unmasked_ids(features):
    """The ids of each record before they were masked, without padding."""
    ids = features["input_ids"].copy()
    for row in range(len(ids)):
        for position, masked_id, weight in zip(*(features[f"masked_lm_{name}"][row] for name in (
                "positions", "ids", "weights")), strict=True):
            if weight:
                ids[row, position] = masked_id
    return [row[mask > 0].tolist() for row, mask in zip(ids, features["input_mask"], strict=True)]


def by_hand(documents, most, crosses_documents):
    """The sequences of documents, sentence by sentence: a plain version of sequences.cut with [CLS] and [SEP]."""
    sentences, token = [], 100
    for document, lengths in enumerate(documents):
        for length in lengths:
            sentences.append((document, list(range(token, token + length))))
            token += length
    found, current, last = [], [CLS], None

    def flush():
        nonlocal current, last
        if len(current) > 1:
            found.append([*current, SEP])
        current, last = [CLS], None

    for document, tokens in sentences:
        left = tokens
        while left:
            separator = [SEP] if last not in (None, document) else []
            is_full = len(current) > 1 and len(current + separator + left) + 1 > most
            if is_full or (separator and not crosses_documents):
                flush()
                continue
            taken, left = left[:most - 2], left[most - 2:]
            current += separator + taken
            last = document
            if left:
                flush()
    flush()
    return found


@pytest.mark.parametrize("most", [5, 11, 12, 16, 40, 200])
@pytest.mark.parametrize("objective", ["full_sentences", "doc_sentences"])
def test_sequences_hold_as_many_sentences_as_fit(objective, most):
    corpus = make_corpus(DOCUMENTS)

    made, features, _ = written(corpus, objective=objective, max_seq_length=most, max_predictions_per_seq=most)

    expected = by_hand(DOCUMENTS, most, objective == "full_sentences")
    assert [unmasked_ids(features)[row] for row in np.argsort(made.order)] == expected
    assert not features["segment_ids"].any()
    assert set(features) == {"input_ids", "input_mask", "segment_ids", "masked_lm_positions", "masked_lm_ids",
                             "masked_lm_weights"}
    assert made.lengths.tolist() == list(map(len, expected))


def test_a_sequence_goes_on_with_the_next_document_after_a_separator():
    parts, starts = sequences.cut(make_corpus([[3, 2], [4, 9], [1]]), 14, crosses_documents=True)
    # [CLS] 3 2 [SEP] 4 [SEP], then [CLS] 9 [SEP] 1 [SEP]
    assert parts.tolist() == [[0, 5], [5, 9], [9, 18], [18, 19]]
    assert starts.tolist() == [0, 2, 4]
    parts, starts = sequences.cut(make_corpus([[3, 2], [4, 9], [1]]), 14, crosses_documents=False)
    assert parts.tolist() == [[0, 5], [5, 9], [9, 18], [18, 19]]
    assert starts.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("whole_words", [False, True])
def test_masks_of_sequences(whole_words):
    """As many as the lengths ask for, none on [CLS] or [SEP], in each pass others."""
    corpus = make_corpus(DOCUMENTS * 20)
    made, features, _ = written(corpus, objective="full_sentences", dupe_factor=2, max_seq_length=30,
                                max_predictions_per_seq=5, do_whole_word_mask=whole_words)
    weights = features["masked_lm_weights"] > 0
    wanted = [masking.number_to_predict(length, 0.15, 5) for length in features["input_mask"].sum(axis=1)]
    assert (weights.sum(axis=1) <= wanted).all()
    assert whole_words or (weights.sum(axis=1) == wanted).all()
    assert (features["masked_lm_ids"][weights] >= 100).all()  # neither [CLS] nor [SEP]
    assert 0.6 < (features["input_ids"][np.nonzero(weights)[0], features["masked_lm_positions"][weights]]
                  == MASK).mean() < 0.95
    half = len(made) // 2
    assert made.parts[:len(made.parts) // 2].tolist() == made.parts[len(made.parts) // 2:].tolist()
    assert made.mask_positions[:made.mask_starts[half]].tolist() != made.mask_positions[
        made.mask_starts[half]:].tolist()


def test_segment_pairs_are_sentence_pairs_without_a_label():
    corpus = make_corpus(DOCUMENTS)
    _, with_label, _ = written(corpus)
    _, without, _ = written(corpus, objective="segment_pairs")
    assert set(with_label) - set(without) == {"next_sentence_labels"}
    for name, values in without.items():
        np.testing.assert_array_equal(values, with_label[name])


def test_sentence_order_swaps_two_consecutive_parts():
    corpus = make_corpus(DOCUMENTS * 30)
    made, features, _ = written(corpus, objective="sentence_order", short_seq_prob=0.0, max_seq_length=60)
    spans = made.parts.reshape(-1, 4)
    swapped = made.labels
    assert 0.4 < swapped.mean() < 0.6
    assert (spans[~swapped, 1] == spans[~swapped, 2]).all()
    assert (spans[swapped, 3] == spans[swapped, 0]).all()
    assert features["sentence_order_labels"][:, 0].tolist() == swapped[made.order].astype(int).tolist()
    document_of = np.searchsorted(corpus.sentence_starts[corpus.document_starts], spans, side="right")
    assert (document_of[:, 0] == document_of[:, 2]).all()
    # Every token is in one pair, but for documents of a single token, which cannot be cut in two.
    covered = np.bincount(np.concatenate([np.arange(*part) for part in made.parts]), minlength=len(corpus.tokens))
    assert covered.max() == 1
    assert (covered == 0).sum() == 30


def test_sentence_order_needs_one_document_only():
    made, _, _ = written(make_corpus([[4]]), objective="sentence_order")
    assert len(made) == 1
    with pytest.raises(ValueError, match="no sequence: its documents are of one token each"):
        written(make_corpus([[1], [1]]), objective="sentence_order")


@pytest.mark.parametrize("objective", ["sentence_pairs", "segment_pairs"])
def test_pairs_of_random_parts_need_two_documents(objective):
    with pytest.raises(ValueError, match="the text is one document: at least two documents"):
        written(make_corpus([[3, 4]]), objective=objective)


@pytest.mark.parametrize("changes", [
    {"objective": "full_sentences"}, {"objective": "doc_sentences", "do_whole_word_mask": True},
    {"objective": "sentence_order", "short_seq_prob": 0.5}, {"objective": "full_sentences", "masking": "dynamic"},
    {"objective": "doc_sentences", "pack_sequences": True}, {"pack_sequences": True, "max_seq_length": 64},
    {"objective": "sentence_order", "pack_sequences": True, "max_sequences_per_pack": 2},
    {"objective": "segment_pairs", "pack_sequences": True, "masking": "dynamic"}])
def test_compiled_functions_give_the_same_sequences_as_python(monkeypatch, changes):
    monkeypatch.setattr(sentence_pairs, "ROOM", 20)
    monkeypatch.setattr(sequences, "ROOM", 20)
    settings = InstanceSettings(**{"max_seq_length": 23, "max_predictions_per_seq": 4, "dupe_factor": 3, **changes})
    for compiled, plain in zip(*compiled_and_plain(
            monkeypatch, make_corpus(DOCUMENTS * 9), settings, "of this test"), strict=True):
        np.testing.assert_array_equal(compiled, plain)
