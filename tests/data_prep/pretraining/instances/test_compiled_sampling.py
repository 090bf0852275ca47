"""Compiled functions give the same instances as the same functions in Python."""

import dataclasses

import numpy as np
import pytest

from data_prep.pretraining import instances as lib
from tests.data_prep.pretraining.instances.toy_corpora import VOCABULARY, make_random_corpus


@pytest.mark.parametrize("num_documents", [2, 30])  # of two, random parts often come from the same document
@pytest.mark.parametrize("changes", [
    {}, {"do_whole_word_mask": True}, {"short_seq_prob": 1.0}, {"short_seq_prob": 0.0, "masked_lm_prob": 1.0},
    {"do_whole_word_mask": True, "masked_lm_prob": 1.0, "max_predictions_per_seq": 30}, {"masking": "dynamic"},
    {"max_seq_length": 5, "max_predictions_per_seq": 1}, {"max_seq_length": 300}, {"objective": "full_sentences"},
    {"mask_fraction": 0.1, "random_fraction": 0.6},
    {"objective": "doc_sentences", "do_whole_word_mask": True}, {"objective": "sentence_order", "short_seq_prob": 0.5},
    {"objective": "full_sentences", "masking": "dynamic"}, {"objective": "doc_sentences", "pack_sequences": True},
    {"pack_sequences": True, "max_seq_length": 64},
    {"objective": "sentence_order", "pack_sequences": True, "max_sequences_per_pack": 2},
    {"objective": "segment_pairs", "pack_sequences": True, "masking": "dynamic"}])
def test_compiled_and_plain_instances(monkeypatch, num_documents, changes):
    monkeypatch.setattr(lib.instances, "BATCH_SENTENCES", 20)  # so that there are many calls
    corpus = make_random_corpus(9, num_documents)
    settings = lib.InstanceSettings(**{"max_seq_length": 23, "max_predictions_per_seq": 4, "dupe_factor": 3, **changes})
    compiled = create_arrays(corpus, settings)
    for module in (lib.sampling, lib.assembly):
        monkeypatch.setattr(module, "compile_function", lambda function, *helpers: function)
    for array, expected in zip(compiled, create_arrays(corpus, settings), strict=True):
        assert array.dtype == expected.dtype
        np.testing.assert_array_equal(array, expected)


def create_arrays(corpus, settings):
    """Creates the arrays of all instances, the features of every second record, and the last state of the sampler."""
    sampler = lib.Sampler("seed")
    instances = lib.create_instances(corpus, settings, VOCABULARY, sampler)
    columns = lib.assemble(corpus, instances, np.arange(instances.num_records)[::2], settings, VOCABULARY)
    return [*(getattr(instances, field.name) for field in dataclasses.fields(instances)), *columns.values(),
            sampler.state]
