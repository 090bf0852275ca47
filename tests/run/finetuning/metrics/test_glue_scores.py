"""Metrics of classifiers and of regression, and files for GLUE's website."""

import numpy as np
import pytest

from data_prep.datasets.published import DATASETS
from run.finetuning.metrics import glue_scores, glue_submission


def test_scores_by_hand():
    # Of label 1, there are 2 true positives, 1 false negative, and 1 false positive.
    labels = np.array([1, 0, 1, 1, 0])
    predictions = np.array([1, 1, 0, 1, 0])
    scores = glue_scores.score_predictions(
        ("accuracy", "f1", "matthews_corrcoef"), labels, predictions
    )
    assert scores["eval_accuracy"] == pytest.approx(3 / 5)
    assert scores["eval_f1"] == pytest.approx(2 * 2 / (2 * 2 + 1 + 1))
    assert scores["eval_matthews_corrcoef"] == pytest.approx((2 * 1 - 1 * 1) / 6)


def test_f1_of_several_labels_by_hand():
    labels = np.array([[1, 0], [1, 0], [1, 1]])
    predictions = np.array([[1, 0], [0, 0], [1, 0]])
    scores = glue_scores.score_predictions(("macro_f1", "micro_f1"), labels, predictions)
    assert scores["eval_macro_f1"] == pytest.approx((2 * 2 / (2 * 2 + 1) + 0) / 2)
    assert scores["eval_micro_f1"] == pytest.approx(2 * 2 / (2 * 2 + 1 + 1))


def test_f1_of_label_1_and_a_constant_prediction():
    labels = np.array([0, 2, 2, 1, 0, 4, 1])
    predictions = np.array([0, 2, 1, 1, 4, 0, 2])
    assert glue_scores.score_predictions(("f1",), labels, predictions) == {
        "eval_f1": pytest.approx(2 * 1 / (2 * 1 + 1 + 1))
    }
    constant = glue_scores.score_predictions(
        ("f1", "macro_f1", "matthews_corrcoef"), np.array([1, 0, 0]), np.array([0, 0, 0])
    )
    assert constant == {
        "eval_f1": 0,
        "eval_macro_f1": pytest.approx(0.8 / 2),
        "eval_matthews_corrcoef": 0,
    }


def test_correlations():
    scores = glue_scores.score_predictions(
        ("pearson", "spearman"), np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 9.0])
    )
    assert scores["eval_spearman"] == pytest.approx(1)
    assert scores["eval_pearson"] == pytest.approx(np.corrcoef([1, 2, 3], [1, 2, 9])[0, 1])
    for predictions in ([2.0, 2.0, 2.0], [2.0]):  # They have no variance.
        scores = glue_scores.score_predictions(
            ("pearson", "spearman"), np.arange(len(predictions)), np.array(predictions)
        )
        assert scores == {"eval_pearson": 0, "eval_spearman": 0}


def test_predictions_and_probabilities():
    logits = np.array([[0.0, np.log(3)], [2.0, -1.0]], np.float32)
    np.testing.assert_array_equal(glue_scores.to_predictions(logits), [1, 0])
    np.testing.assert_array_equal(
        glue_scores.to_predictions(logits, multi_label=True), [[0, 1], [1, 0]]
    )
    np.testing.assert_array_equal(
        glue_scores.to_predictions(logits[:, :1], regression=True), [0, 2]
    )
    np.testing.assert_allclose(glue_scores.to_probabilities(logits)[0], [0.25, 0.75], rtol=1e-6)
    np.testing.assert_allclose(
        glue_scores.to_probabilities(logits, multi_label=True)[0], [0.5, 0.75], rtol=1e-6
    )


def test_every_task_is_scored_by_known_metrics():
    named = {name for task in DATASETS.values() for name in task.metrics}
    assert named <= set(glue_scores.METRICS)


def test_means_of_probabilities():
    """The probabilities of the averaged logits are the means of the probabilities.

    This also holds for probabilities that are almost 0 or 1.
    """
    logits = (
        np.random.default_rng(3)
        .normal(scale=4, size=(3, 5, 4))
        .astype(np.float32)
        .astype(np.float64)
    )
    logits[1, 0] = [90, -90, 0, 0]
    for options, probabilities in (
        ({}, np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)),
        ({"multi_label": True}, 1 / (1 + np.exp(-logits))),
        ({"regression": True}, logits),
    ):
        averaged = glue_scores.average_logits([*logits], **options)
        assert averaged.dtype == np.float32
        np.testing.assert_allclose(
            glue_scores.to_probabilities(averaged, **options), probabilities.mean(axis=0), rtol=2e-5
        )
    assert (
        glue_scores.average_logits(
            [np.float32([[3, 0]]), np.float32([[-1, 0]]), np.float32([[-1, 0]])]
        ).argmax()
        == 1
    )


def test_labels_by_name_beside_the_published_index(tmp_path):
    path = glue_submission.write(
        tmp_path, DATASETS["qnli"], ["test-0", "test-1", "test-7"], np.array([1, 0, 1])
    )
    assert path.endswith("QNLI.tsv")
    with open(path, encoding="utf-8") as file:
        assert (
            file.read()
            == "index\tprediction\n0\tnot_entailment\n1\tentailment\n7\tnot_entailment\n"
        )


def test_similarities_stay_in_their_range(tmp_path):
    path = glue_submission.write(
        tmp_path,
        DATASETS["sts-b"],
        ["test-0", "test-1", "test-2"],
        np.array([5.25, -0.5, 2.34567], np.float32),
    )
    with open(path, encoding="utf-8") as file:
        assert file.read().splitlines()[1:] == ["0\t5.000", "1\t0.000", "2\t2.346"]


def test_every_task_of_glue_has_a_file():
    assert set(glue_submission.FILES) == set(DATASETS) - {"xnli", "sick_e", "sick_r"}
