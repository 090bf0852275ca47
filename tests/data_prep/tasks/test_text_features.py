"""Features of texts and pairs, which match the original BERT, and windows over texts."""

import shutil

import numpy as np
import pytest

from bert_tf.errors import InputError
from data_prep.tasks import text_features
from data_prep.tasks.classifier import ClassifierData, ClassifierSettings
from tests.conftest import REFERENCE


@pytest.fixture(scope="module")
def tokenizer(make_tokenizer):
    return make_tokenizer(*"abcdef")


def test_features_match_the_original_bert(tmp_path, reference_tokenizer):
    shutil.copy(REFERENCE / "pairs.tsv", tmp_path / "train.tsv")
    data = ClassifierData(
        ClassifierSettings(task_name="mrpc", data_dir=str(tmp_path)), max_seq_length=48
    )
    features = data.read("train", reference_tokenizer)
    with np.load(REFERENCE / "pairs_features.npz") as expected:
        assert set(features) == set(expected)
        for name, values in expected.items():
            assert features[name].dtype == np.int32
            np.testing.assert_array_equal(features[name], values, err_msg=name)


def test_features_of_single_texts_in_several_batches(tokenizer, monkeypatch):
    monkeypatch.setattr(text_features, "ROWS_AT_A_TIME", 3)
    features, _ = text_features.convert_texts_to_features(
        list("abcdefa"), None, tokenizer, max_seq_length=5
    )
    assert features["input_ids"][:, 1].tolist() == list(map(tokenizer.vocabulary.index, "abcdefa"))
    assert features["input_mask"].sum(1).tolist() == [3] * 7


@pytest.mark.parametrize(("is_pair", "shortest"), [(False, 3), (True, 5)])
def test_length_without_space_for_a_token(is_pair, shortest):
    with pytest.raises(
        InputError, match=f"`max_seq_length`={shortest - 1}: .* at least {shortest}"
    ):
        text_features.check_length(is_pair, shortest - 1)
    text_features.check_length(is_pair, shortest)


def test_truncated_tokens_are_counted(tokenizer):
    def describe(text_b, length):
        _, lengths = text_features.convert_texts_to_features(
            ["a b c d e", "f"], text_b, tokenizer, length
        )
        return text_features.describe_truncated("rows", lengths, text_b is not None, length)

    assert describe(["b a e d", "c"], 8) == [
        "1 rows are longer than --max_seq_length=8 and are truncated: 4 of all 11 tokens are "
        "dropped"
    ]
    assert describe(None, 6)[0].endswith("truncated: 1 of all 6 tokens are dropped")
    assert describe(None, 7) == []


def test_windows_by_hand_in_several_batches(tokenizer, monkeypatch):
    monkeypatch.setattr(text_features, "ROWS_AT_A_TIME", 2)
    cls = 2
    sep = 3
    a, b, c, *_, f = range(5, 11)
    windows = text_features.convert_texts_to_windows(
        ["a", "a b c d", "f"], None, tokenizer, 4, stride=1, max_windows=2
    )
    assert windows.features["input_ids"].tolist() == [
        [[cls, a, sep, 0], [0] * 4],
        [[cls, a, b, sep], [cls, b, c, sep]],
        [[cls, f, sep, 0], [0] * 4],
    ]
    assert windows.counts.tolist() == [1, 2, 1]
    assert windows.was_cut.tolist() == [False, True, False]
