"""Features of texts and pairs, and windows over texts."""

import shutil

import numpy as np
import pytest

from bert_tf.errors import InputError
from data_prep.tasks import glue, text_features
from tests.conftest import REFERENCE


@pytest.fixture(scope="module")
def tokenizer(make_tokenizer):
    return make_tokenizer(*"abcdef")


def test_features_match_the_original_bert(tmp_path, reference_tokenizer):
    shutil.copy(REFERENCE / "pairs.tsv", tmp_path / "train.tsv")
    examples = glue.read_examples(glue.TASKS["mrpc"], str(tmp_path), "train")
    features, _ = text_features.convert_examples_to_features(examples, reference_tokenizer, max_seq_length=48)
    with np.load(REFERENCE / "pairs_features.npz") as expected:
        assert set(features) == set(expected)
        for name, values in expected.items():
            assert features[name].dtype == np.int32
            np.testing.assert_array_equal(features[name], values, err_msg=name)


def test_features_of_pairs_by_hand(tokenizer):
    """The longer text loses tokens first, for equal lengths the second. An empty second text has no [SEP]."""
    examples = glue.Examples(["x-1", "x-2", "x-3", "x-4"], ["a b c d", "a b c d", "a b", ""],
                             ["e f", "e f a b", "\u200b", "c"], np.array([1, 0, 1, 0], np.int32))
    features, lengths = text_features.convert_examples_to_features(examples, tokenizer, max_seq_length=8)
    cls, sep, a, b, c, e, f = map(tokenizer.vocabulary.index, ["[CLS]", "[SEP]", *"abcef"])
    assert features["input_ids"].tolist() == [[cls, a, b, c, sep, e, f, sep], [cls, a, b, c, sep, e, f, sep],
                                              [cls, a, b, sep, 0, 0, 0, 0], [cls, sep, c, sep, 0, 0, 0, 0]]
    assert features["input_mask"].tolist() == [[1] * 8, [1] * 8, [1] * 4 + [0] * 4, [1] * 4 + [0] * 4]
    assert features["segment_ids"].tolist() == [[0] * 5 + [1] * 3, [0] * 5 + [1] * 3, [0] * 8,
                                                [0, 0, 1, 1, 0, 0, 0, 0]]
    assert features["label_ids"].tolist() == [1, 0, 1, 0]
    assert lengths.tolist() == [6, 8, 2, 1]


def test_features_of_single_texts_in_several_batches(tokenizer, monkeypatch):
    monkeypatch.setattr(text_features, "ROWS_AT_A_TIME", 3)
    examples = glue.Examples([f"x-{n}" for n in range(7)], list("abcdefa"), None, None)
    features, _ = text_features.convert_examples_to_features(examples, tokenizer, max_seq_length=5)
    assert set(features) == {"input_ids", "input_mask", "segment_ids"}
    assert features["input_ids"][:, 1].tolist() == list(map(tokenizer.vocabulary.index, "abcdefa"))
    assert features["input_mask"].sum(1).tolist() == [3] * 7


def test_a_length_without_space_for_a_token(tokenizer):
    for text_b, shortest in ((None, 3), (["b"], 5)):
        examples = glue.Examples(["x-1"], ["a"], text_b, None)
        with pytest.raises(InputError, match=f"`max_seq_length`={shortest - 1}: .* at least {shortest}"):
            text_features.convert_examples_to_features(examples, tokenizer, shortest - 1)
        text_features.convert_examples_to_features(examples, tokenizer, shortest)


def test_truncated_tokens_are_counted():
    lengths = np.array([9, 2])
    assert text_features.describe_truncated("rows", lengths, True, 8) == [
        "1 rows are longer than --max_seq_length=8 and are truncated: 4 of all 11 tokens are dropped"]
    assert text_features.describe_truncated("rows", lengths, False, 11) == []


def test_windows_by_hand_in_several_batches(make_tokenizer, monkeypatch):
    monkeypatch.setattr(text_features, "ROWS_AT_A_TIME", 2)
    cls, sep, a, b, c, f = 2, 3, 5, 6, 7, 10
    examples = glue.Examples(["1", "2", "3"], ["a", "a b c d", "f"], None, np.array([0, 1, 1], np.int32))
    features, counts, was_cut = text_features.convert_examples_to_windows(
        examples, make_tokenizer(*"abcdef"), 4, stride=1, max_windows=2)
    assert features["input_ids"].tolist() == [
        [[cls, a, sep, 0], [0] * 4], [[cls, a, b, sep], [cls, b, c, sep]], [[cls, f, sep, 0], [0] * 4]]
    assert (counts.tolist(), was_cut.tolist()) == ([1, 2, 1], [False, True, False])
    assert features["label_ids"].tolist() == [0, 1, 1]
