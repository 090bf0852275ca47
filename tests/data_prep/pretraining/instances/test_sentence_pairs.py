"""Pairs of a document, and the features of instances."""

import dataclasses

import numpy as np
import pytest

from data_prep.pretraining import instances as instances_lib
from data_prep.pretraining.instances import InstanceSettings, Sampler, assemble, create_instances, sampling
from data_prep.pretraining.instances.instances import create_buffers, create_rules, create_text
from tests.data_prep.pretraining.instances.toy_corpora import VOCABULARY, make_corpus, make_random_corpus


class ScriptedNumbers:
    """Given numbers instead of random numbers; records the ranges of the integers."""

    def __init__(self, monkeypatch, *numbers):
        self.numbers, self.ranges = list(numbers), []
        monkeypatch.setattr(sampling, "random_fraction", lambda state: self.numbers.pop(0))
        monkeypatch.setattr(sampling, "random_integer", self.pop_integer)

    def pop_integer(self, state, low, high):
        self.ranges.append((low, high))
        return self.numbers.pop(0)


def sample_pairs(corpus, documents, place, settings, state=None):
    """Samples the pairs of documents[place:] in plain Python, without masks: list of (span, is_random_next)."""
    settings = dataclasses.replace(settings, masking="dynamic")
    text = create_text(corpus, settings, VOCABULARY)._replace(documents=np.array(documents))
    buffers = create_buffers(corpus.num_sentences, settings)
    place, num_pairs, num_masks = sampling.sample_pairs(
        state, place, text, create_rules(settings, VOCABULARY), buffers)
    assert (place, num_masks) == (len(documents), 0)
    return [(tuple(span), is_random) for span, is_random in zip(
        buffers.parts.reshape(-1, 4)[:num_pairs].tolist(), buffers.labels[:num_pairs].tolist(), strict=True)]


def test_actual_next(monkeypatch):
    # Sentences of 3, 2, 4, 9 tokens: 3 + 2 + 4 fill the 9 of max_seq_length 12, 9 the second record.
    corpus = make_corpus([5], [3, 2, 4, 9])
    numbers = ScriptedNumbers(
        monkeypatch, 0.1, 2, 0.5,  # no short sequence; two sentences for a; not random
        0, 0, 0.9, 0.9, 0.9, 0.9, 0.9)  # a single sentence, so random: document 0, its sentence 0; five truncations
    pairs = sample_pairs(corpus, [0, 1], 1, InstanceSettings(max_seq_length=12))
    # The 9 and 5 tokens of the second pair lose 4 and 1 from their ends.
    assert pairs == [((5, 10, 10, 14), False), ((14, 19, 0, 4), True)]
    assert numbers.ranges == [(1, 2), (0, 1), (0, 0)]
    assert numbers.numbers == []


def test_sentences_that_a_random_next_replaces_begin_the_next_pair(monkeypatch):
    corpus = make_corpus([4, 4, 1, 7], [3, 2, 4])
    numbers = ScriptedNumbers(
        monkeypatch, 0.1, 1, 0.49, 1, 0, 1,  # a is one sentence; document 1 itself, so again: 0, sentence 1
        0.9, 0.9, 0.1, 0.9, 0.9, 0.9,  # 12 tokens are truncated to 6
        1, 0.5)  # the two replaced sentences
    pairs = sample_pairs(corpus, [0, 1], 1, InstanceSettings(max_seq_length=12))
    # Six tokens are required from sentences of 4, 1, and 7, so all three are taken.
    assert pairs == [((16, 19, 5, 11), True), ((19, 21, 21, 25), False)]
    assert numbers.numbers == []


def test_ten_tries_for_another_document(monkeypatch):
    ScriptedNumbers(monkeypatch, 0.1, *[1] * 10, 0)
    assert sample_pairs(make_corpus([4], [3]), [0, 1], 1, InstanceSettings(max_seq_length=12)) == [((4, 7, 4, 7), True)]


def test_truncation_removes_from_the_longer_part(monkeypatch):
    numbers = ScriptedNumbers(monkeypatch, 0.4, 0.5, 0.1, 0.9)
    # Lengths 5 and 4: a loses its first token, b (now as long) its last, a its first, b its last.
    assert sampling.truncate_pair(None, (10, 15, 20, 24), 5) == (12, 15, 20, 22)
    assert numbers.numbers == []


def test_assembly_by_hand():
    corpus = make_corpus([3, 2], [4])  # tokens 100 to 108
    instances = instances_lib.Instances(
        parts=np.array([[0, 3], [3, 5], [5, 7], [1, 2]]), part_starts=np.array([0, 2, 4]),
        labels=np.array([False, True]), record_starts=np.arange(3),
        mask_starts=np.array([0, 3, 4]), mask_positions=np.array([6, 1, 5, 2], np.uint16),
        mask_replacements=np.array([3, sampling.KEEP, 77, 3], np.int32), order=np.array([1, 0]))
    settings = InstanceSettings(max_seq_length=9, max_predictions_per_seq=4)
    features = assemble(corpus, instances, np.arange(2), settings, VOCABULARY)
    assert {name: values.tolist() for name, values in features.items()} == {
        "input_ids": [[1, 105, 3, 2, 101, 2, 0, 0, 0], [1, 100, 101, 102, 2, 77, 3, 2, 0]],
        "input_mask": [[1, 1, 1, 1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 1, 1, 1, 0]],
        "segment_ids": [[0, 0, 0, 0, 1, 1, 0, 0, 0], [0, 0, 0, 0, 0, 1, 1, 1, 0]],
        "masked_lm_positions": [[2, 0, 0, 0], [1, 5, 6, 0]],
        "masked_lm_ids": [[106, 0, 0, 0], [100, 103, 104, 0]],
        "masked_lm_weights": [[1, 0, 0, 0], [1, 1, 1, 0]],
        "next_sentence_labels": [[1], [0]],
    }


def test_dynamic_masking_samples_only_pairs():
    corpus = make_random_corpus(3)
    settings = InstanceSettings(max_seq_length=23, dupe_factor=1, masking="dynamic")
    instances = create_instances(corpus, settings, VOCABULARY, Sampler(8))
    features = assemble(corpus, instances, np.argsort(instances.order), settings, VOCABULARY)
    assert set(features) == {"input_ids", "input_mask", "segment_ids", "next_sentence_labels"}
    assert len(instances.mask_positions) == 0
    sampler, documents = Sampler(8), np.arange(corpus.num_documents)
    sampler.shuffle(documents)
    pairs = sample_pairs(corpus, documents, 0, settings, sampler.state)
    assert instances.parts.reshape(-1, 4).tolist() == [list(span) for span, _ in pairs]
    for row, (a_start, a_stop, b_start, b_stop) in enumerate(instances.parts.reshape(-1, 4)):
        expected = [1, *corpus.tokens[a_start:a_stop], 2, *corpus.tokens[b_start:b_stop], 2]
        assert features["input_ids"][row].tolist() == expected + [0] * (23 - len(expected))


@pytest.mark.parametrize(("size", "dtype"), [(1300, np.int16), (40_000, np.int32)])
def test_replacements_have_the_narrowest_dtype_for_the_vocabulary(size, dtype):
    vocabulary = dataclasses.replace(VOCABULARY, random_ids=np.arange(size), is_continuation=np.zeros(size, bool))
    instances = create_instances(make_random_corpus(4), InstanceSettings(max_seq_length=23), vocabulary, Sampler(2))
    assert instances.mask_replacements.dtype == dtype
    assert size - 2000 < instances.mask_replacements.max() < size
