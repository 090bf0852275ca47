"""Documents to sentence pairs, and pairs to features."""

import dataclasses
import random

import numpy as np
import pytest

from data_prep.pretraining.corpus import Corpus
from data_prep.pretraining.instances import (
    Instances,
    InstanceSettings,
    Sampler,
    assemble,
    assembly,
    create_instances,
    masking,
    sampling,
    sentence_pairs,
)
from data_prep.pretraining.instances.instances import create_rules, create_text

VOCABULARY = masking.Vocabulary(size=1300, cls_id=1, sep_id=2, mask_id=3, is_continuation=np.arange(1300) % 3 == 1)


class ScriptedNumbers:
    """Instead of random numbers: those given; remembers the ranges of the integers."""

    def __init__(self, monkeypatch, *numbers):
        self.numbers, self.ranges = list(numbers), []
        monkeypatch.setattr(sampling, "random_fraction", lambda state: self.numbers.pop(0))
        monkeypatch.setattr(sampling, "random_integer", self.pop_integer)

    def pop_integer(self, state, low, high):
        self.ranges.append((low, high))
        return self.numbers.pop(0)


def make_corpus(*documents):
    """A corpus of documents, each a list of lengths of sentences; the tokens are 100, 101, ..."""
    lengths = [length for document in documents for length in document]
    sentence_starts = np.cumsum([0, *lengths]).tolist()
    document_starts = np.cumsum([0, *map(len, documents)]).tolist()
    return Corpus(np.arange(100, 100 + sum(lengths)).astype(np.uint16), np.array(sentence_starts),
                  np.array(document_starts), num_bytes=0)


def document_pairs(corpus, documents, place, settings, state=None):
    """The pairs of documents[place:], sampled in plain Python without masks: list of (span, is_random_next)."""
    settings = dataclasses.replace(settings, masking="dynamic")
    text = create_text(corpus, settings, VOCABULARY)._replace(documents=np.array(documents))
    buffers = sentence_pairs.create_buffers(corpus.num_sentences, settings)
    place, num_pairs, num_masks = sampling.sample_pairs(
        state, place, text, create_rules(settings, VOCABULARY), buffers)
    assert (place, num_masks) == (len(documents), 0)
    return [(tuple(span), is_random) for span, is_random in zip(
        buffers.parts.reshape(-1, 4)[:num_pairs].tolist(), buffers.labels[:num_pairs].tolist(), strict=True)]


def random_corpus(seed, num_documents=11):
    rng = random.Random(seed)
    return make_corpus(*([rng.randint(1, 9) for _ in range(rng.randint(1, 12))] for _ in range(num_documents)))


def test_an_actual_next(monkeypatch):
    # Sentences of 3, 2, 4, 9 tokens; 3 + 2 + 4 fill the 9 of max_seq_length 12, 9 the second record.
    corpus = make_corpus([5], [3, 2, 4, 9])
    numbers = ScriptedNumbers(
        monkeypatch, 0.1, 2, 0.5,  # no short sequence; two sentences for a; not random
        0, 0, 0.9, 0.9, 0.9, 0.9, 0.9)  # alone, so random: document 0, its sentence 0; 5 cuts
    pairs = document_pairs(corpus, [0, 1], 1, InstanceSettings(max_seq_length=12))

    # The 9 and 5 tokens of the second pair lose 4 and 1 from their ends.
    assert pairs == [((5, 10, 10, 14), False), ((14, 19, 0, 4), True)]
    assert numbers.ranges == [(1, 2), (0, 1), (0, 0)]
    assert numbers.numbers == []


def test_sentences_of_a_random_next_are_used_again(monkeypatch):
    corpus = make_corpus([4, 4, 1, 7], [3, 2, 4])
    numbers = ScriptedNumbers(
        monkeypatch, 0.1, 1, 0.49, 1, 0, 1,  # a is one sentence; document 1 itself, so again: 0, sentence 1
        0.9, 0.9, 0.1, 0.9, 0.9, 0.9,  # 12 tokens are cut to 6
        1, 0.5)  # the two sentences that went back
    pairs = document_pairs(corpus, [0, 1], 1, InstanceSettings(max_seq_length=12))

    # 6 tokens are wanted of sentences of 4, 1 and 7, so all three are taken.
    assert pairs == [((16, 19, 5, 11), True), ((19, 21, 21, 25), False)]
    assert numbers.numbers == []


def test_ten_tries_for_another_document(monkeypatch):
    corpus = make_corpus([4], [3])
    ScriptedNumbers(monkeypatch, 0.1, *[1] * 10, 0)

    (pair,) = document_pairs(corpus, [0, 1], 1, InstanceSettings(max_seq_length=12))

    assert pair == ((4, 7, 4, 7), True)


def test_a_short_sequence(monkeypatch):
    corpus = make_corpus([5], [2, 3, 4])
    numbers = ScriptedNumbers(monkeypatch, 0.09, 4, 1, 0.5, 0, 0)  # 2 + 3 tokens fill a target of 4
    pairs = document_pairs(corpus, [0, 1], 1, InstanceSettings(max_seq_length=12))

    assert pairs == [((5, 7, 7, 10), False), ((10, 14, 0, 5), True)]
    assert numbers.ranges == [(2, 9), (1, 1), (0, 1), (0, 0)]


def test_truncation_takes_from_the_longer_part(monkeypatch):
    numbers = ScriptedNumbers(monkeypatch, 0.4, 0.5, 0.1, 0.9)

    # lengths 5 and 4 -> a loses its first, b (no longer the shorter one) its last, a its first, b its last
    assert sampling.truncate_pair(None, (10, 15, 20, 24), 5) == (12, 15, 20, 22)
    assert numbers.numbers == []


@pytest.mark.parametrize("whole_words", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_instances_of_random_corpora(seed, whole_words):
    corpus = random_corpus(seed)
    settings = InstanceSettings(max_seq_length=23, max_predictions_per_seq=4, dupe_factor=3, short_seq_prob=0.3,
                                do_whole_word_mask=whole_words)
    steps = []
    made = create_instances(corpus, settings, VOCABULARY, Sampler(seed), steps.append)
    again = create_instances(corpus, settings, VOCABULARY, Sampler(seed))

    assert sum(steps) == 3 * corpus.num_sentences
    assert sorted(made.order) == list(range(len(made)))
    for field in dataclasses.fields(made):
        np.testing.assert_array_equal(getattr(made, field.name), getattr(again, field.name))
    assert made.lengths.max() <= 23
    assert 0 < made.labels.mean() < 1
    sentence_of = np.searchsorted(np.array(corpus.sentence_starts), made.parts.reshape(-1, 4), side="right") - 1
    document_of = np.searchsorted(np.array(corpus.document_starts), sentence_of, side="right") - 1
    is_same = document_of[:, 0] == document_of[:, 2]
    assert is_same[~made.labels].all()
    # Ten tries among eleven documents: a random next from the same document is all but impossible.
    assert not is_same[made.labels].any()


def test_assemble():
    corpus = make_corpus([3, 2], [4])  # tokens 100 to 108
    made = Instances(
        parts=np.array([[0, 3], [3, 5], [5, 7], [1, 2]]), part_starts=np.array([0, 2, 4]),
        labels=np.array([False, True]), record_starts=np.arange(3),
        mask_starts=np.array([0, 3, 4]), mask_positions=np.array([6, 1, 5, 2], np.uint16),
        mask_replacements=np.array([3, sampling.KEEP, 77, 3], np.int32), order=np.array([1, 0]))
    settings = InstanceSettings(max_seq_length=9, max_predictions_per_seq=4)

    features = assemble(corpus, made, np.arange(2), settings, VOCABULARY)

    assert {name: values.tolist() for name, values in features.items()} == {
        "input_ids": [[1, 105, 3, 2, 101, 2, 0, 0, 0], [1, 100, 101, 102, 2, 77, 3, 2, 0]],
        "input_mask": [[1, 1, 1, 1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 1, 1, 1, 0]],
        "segment_ids": [[0, 0, 0, 0, 1, 1, 0, 0, 0], [0, 0, 0, 0, 0, 1, 1, 1, 0]],
        "masked_lm_positions": [[2, 0, 0, 0], [1, 5, 6, 0]],
        "masked_lm_ids": [[106, 0, 0, 0], [100, 103, 104, 0]],
        "masked_lm_weights": [[1, 0, 0, 0], [1, 1, 1, 0]],
        "next_sentence_labels": [[1], [0]],
    }


def test_dynamic_masking_draws_pairs_only():
    corpus = random_corpus(3)
    settings = InstanceSettings(max_seq_length=23, dupe_factor=1, masking="dynamic")

    made = create_instances(corpus, settings, VOCABULARY, Sampler(8))
    features = assemble(corpus, made, np.argsort(made.order), settings, VOCABULARY)

    assert set(features) == {feature.name for feature in settings.features} == {
        "input_ids", "input_mask", "segment_ids", "next_sentence_labels"}
    assert len(made.mask_positions) == 0
    again, documents = Sampler(8), np.arange(corpus.num_documents)
    again.shuffle(documents)
    pairs = document_pairs(corpus, documents, 0, settings, again.state)
    assert made.parts.reshape(-1, 4).tolist() == [list(span) for span, _ in pairs]
    for row, (a_start, a_stop, b_start, b_stop) in enumerate(made.parts.reshape(-1, 4)):
        expected = [1, *corpus.tokens[a_start:a_stop], 2, *corpus.tokens[b_start:b_stop], 2]
        assert features["input_ids"][row].tolist() == expected + [0] * (23 - len(expected))


def test_the_ids_of_a_large_vocabulary_fit_in():
    corpus = random_corpus(4)
    settings = InstanceSettings(max_seq_length=23, dupe_factor=2)
    wide = dataclasses.replace(VOCABULARY, size=40_000, is_continuation=np.zeros(40_000, bool))
    made = create_instances(corpus, settings, wide, Sampler(2))

    assert made.mask_replacements.dtype == np.int32
    assert made.mask_replacements.max() > 1 << 15
    narrow = create_instances(corpus, settings, VOCABULARY, Sampler(2))
    assert narrow.mask_replacements.dtype == np.int16


def test_one_document_is_refused():
    with pytest.raises(ValueError, match="the text is one document: at least two documents"):
        create_instances(make_corpus([3, 4]), InstanceSettings(), VOCABULARY, Sampler(1))


@pytest.mark.parametrize("num_documents", [2, 3, 30])
@pytest.mark.parametrize("changes", [
    {}, {"do_whole_word_mask": True}, {"short_seq_prob": 1.0}, {"short_seq_prob": 0.0, "masked_lm_prob": 1.0},
    {"do_whole_word_mask": True, "masked_lm_prob": 1.0, "max_predictions_per_seq": 30}, {"masking": "dynamic"},
    {"max_seq_length": 5, "max_predictions_per_seq": 1}, {"max_seq_length": 300}])
def test_compiled_functions_do_as_python_does(monkeypatch, num_documents, changes):
    """Random nexts of two documents come from the same one time and again; room for few pairs makes many calls."""
    monkeypatch.setattr(sentence_pairs, "ROOM", 20)
    corpus = random_corpus(9, num_documents)
    settings = InstanceSettings(**{"max_seq_length": 23, "max_predictions_per_seq": 4, "dupe_factor": 3, **changes})
    steps = []
    results = compiled_and_plain(monkeypatch, corpus, settings, "of this test", steps.append)
    for compiled, plain in zip(*results, strict=True):
        assert compiled.dtype == plain.dtype
        np.testing.assert_array_equal(compiled, plain)
    assert sum(steps) == 2 * 3 * corpus.num_sentences


def compiled_and_plain(monkeypatch, corpus, settings, seed, on_progress=lambda sentences: None):
    """Arrays that compiled functions give, and those of the same functions as Python: two lists."""
    results = []
    for is_plain in (False, True):
        if is_plain:
            for module in (sampling, assembly):
                monkeypatch.setattr(module, "compiled", lambda function, *helpers: function)
        sampler = Sampler(seed)
        made = create_instances(corpus, settings, VOCABULARY, sampler, on_progress)
        columns = assemble(corpus, made, np.arange(made.num_records)[::2], settings, VOCABULARY)
        results.append([*(getattr(made, field.name) for field in dataclasses.fields(made)), *columns.values(),
                        sampler.state])
    return results
