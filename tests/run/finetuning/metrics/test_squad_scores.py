"""Question answering: scores of answers, training batches of windows, and averages of models."""

import itertools
import types

import numpy as np
import pytest

from data_prep import records
from data_prep.tasks import squad
from data_prep.tasks.squad.answers import CERTAINLY_NULL, Candidate
from run.finetuning.metrics import squad_scores
from run.finetuning.tasks import span_labeler
from run.finetuning.tasks.span_labeler import SpanLabelerTask
from run.training.host_batches import WHOLE, HostShare
from run.training.padding import Padding
from tests.errors import rejects

LENGTH = 11
BATCH_SIZE = 2
NUM_RECORDS = 13
FEATURES = squad.record_features(LENGTH, is_training=True)


def example(id_, *answers):
    return squad.Example(id_, "question", "context", answers=answers)


def make_answers(texts, null_odds=None):
    """Returns answers with one candidate per question; `texts`: dict of question ID to text."""
    return squad.Answers(
        {id_: [Candidate(text, 1.0, 2.0)] for id_, text in texts.items()}, null_odds
    )


def test_scores_of_squad_1():
    examples = [example("1", "the red fox", "fox"), example("2", "b c"), example("3", "d e f g")]
    scores = squad_scores.score_answers(
        examples, make_answers({"1": "A red fox!", "2": "x", "3": "d e"}), 0.0
    )
    # Articles and punctuation are ignored. "d e" has precision 1 and recall 1/2.
    assert scores == pytest.approx({"exact_match": 100 / 3, "f1": 100 * (1 + 0 + 2 / 3) / 3})


def test_scores_of_squad_2_and_the_best_threshold():
    examples = [
        example("1", "b"),
        example("2"),
        example("3", "c d"),
        example("4"),
        example("5", "e"),
    ]
    answers = make_answers(
        {"1": "b", "2": "x", "3": "c", "4": "y", "5": ""},
        {"1": -3.0, "2": 4.0, "3": 2.0, "4": -1.0, "5": CERTAINLY_NULL},
    )
    scores = squad_scores.score_answers(examples, answers, 0.0)
    # 1 is correct, 2 is correctly unanswered, 3 and 5 are incorrectly unanswered, 4 is incorrectly
    # answered.
    assert {name: scores[name] for name in scores if "best" not in name} == pytest.approx(
        {
            "exact": 40,
            "f1": 40,
            "HasAns_exact": 100 / 3,
            "HasAns_f1": 100 / 3,
            "NoAns_exact": 50,
            "NoAns_f1": 50,
        }
    )
    # At -3, 1, 2, and 4 are exact; at larger thresholds, fewer. F1 at 2 counts 1, 2, and 2/3 of 3.
    assert (scores["best_exact"], scores["best_exact_thresh"]) == (60, -3)
    assert (scores["best_f1"], scores["best_f1_thresh"]) == (60, -3)
    at_best = squad_scores.score_answers(examples, answers, scores["best_f1_thresh"])
    assert at_best["f1"] == scores["best_f1"]


def test_the_best_threshold_can_reject_all_answers():
    examples = [example("1", "b"), example("2"), example("3")]
    answers = make_answers({"1": "x", "2": "y", "3": "z"}, {"1": -5.0, "2": 3.0, "3": -7.0})
    best = squad_scores.best_thresholds(examples, answers)
    assert best["best_f1"] == pytest.approx(200 / 3)
    assert set(answers.choose(best["best_f1_thresh"]).values()) == {""}


def test_scores_of_korquad():
    examples = [example("1", "1989년 2월 15일"), example("2", "〈대전〉시", "서울")]
    scores = squad_scores.score_answers(
        examples, make_answers({"1": "1989년 2월", "2": "'서울'!"}), 0.0, "korquad"
    )
    # All 7 characters are among the 10 of the correct answer: F1 is 2 * 7 / 17.
    assert scores == pytest.approx({"exact_match": 50, "f1": 100 * (14 / 17 + 1) / 2})


def test_questions_without_answers_cannot_be_scored():
    for question, is_v2, end in (
        (example("1", "b"), False, "answers (SQuAD 2.0 requires `version_2_with_negative`)"),
        (squad.Example("1", "q", "c"), True, "have no reference answers"),
    ):
        with rejects(None, "1 of 2 questions", "no reference answers", end=end):
            squad_scores.check_answers([question, example("2")], is_v2)


@pytest.fixture(scope="module")
def record_file(tmp_path_factory):
    """Path of records of the lengths 5, 6, ..., 11, 5, ..., whose unique_ids are their numbers."""
    path = str(tmp_path_factory.mktemp("records") / "train.tf_record")
    numbers = np.arange(NUM_RECORDS)[:, np.newaxis]
    mask = (np.arange(LENGTH) < 5 + numbers % 7).astype(int)
    with records.RecordWriter(path, FEATURES) as writer:
        writer.write(
            {
                "unique_ids": numbers,
                "input_ids": mask * (numbers + 1),
                "input_mask": mask,
                "segment_ids": mask,
                "start_positions": numbers % 4,
                "end_positions": numbers % 5,
                "is_impossible": numbers % 2,
            }
        )
    return path


def batches(record_file, num_batches, first_step=0, seed=3, padding=Padding.REMOVED, share=WHOLE):
    data = span_labeler.record_batches(
        record_file,
        FEATURES,
        NUM_RECORDS,
        BATCH_SIZE,
        seed,
        first_step=first_step,
        share=share,
        padding=padding,
    )
    return list(data.take(num_batches).as_numpy_iterator())


def get_ids(batches):
    return [batch["unique_ids"][:, 0].tolist() for batch in batches]


def test_batches_contain_every_record_equally_often(record_file):
    # 78 batches of 2 records are 12 epochs of 13. Grouped batches are shuffled in windows of 6.
    for padding in (Padding.REMOVED, Padding.STATIC):
        ids = itertools.chain.from_iterable(get_ids(batches(record_file, 78, padding=padding)))
        assert sorted(ids) == sorted(12 * list(range(NUM_RECORDS)))


def test_batches_have_similar_lengths_and_are_truncated(record_file):
    for batch in batches(record_file, 6):
        lengths = batch["input_mask"].sum(axis=1)
        assert batch["input_ids"].shape == (BATCH_SIZE, lengths.max())
        assert lengths.max() - lengths.min() <= 1
        assert batch["start_positions"].shape == (BATCH_SIZE, 1)
        np.testing.assert_array_equal(
            batch["input_ids"], batch["input_mask"] * (batch["unique_ids"] + 1)
        )
    assert all(
        batch["input_ids"].shape == (BATCH_SIZE, LENGTH)
        for batch in batches(record_file, 6, padding=Padding.STATIC)
    )


@pytest.mark.large
@pytest.mark.parametrize("padding", [Padding.REMOVED, Padding.STATIC])
def test_resumed_runs_and_hosts_have_the_same_batches(record_file, padding):
    expected = batches(record_file, 20, padding=padding)
    for first_step in (1, 6, 9):
        resumed = batches(record_file, 11, first_step, padding=padding)
        assert get_ids(resumed) == get_ids(expected[first_step : first_step + 11])
    assert get_ids(batches(record_file, 20, seed=4, padding=padding)) != get_ids(expected)
    hosts = [
        batches(record_file, 9, 5, padding=padding, share=HostShare(index, 2)) for index in range(2)
    ]
    for *parts, whole in zip(*hosts, expected[5:14], strict=True):
        for name, values in whole.items():
            np.testing.assert_array_equal(np.concatenate([part[name] for part in parts]), values)


@pytest.mark.parametrize("ignores_padding", [False, True])
def test_spans_are_averaged_over_all_windows_of_a_question(ignores_padding):
    """Questions 0 and 2 have two windows and one.

    Question 1 has none, as if its context were empty.
    """
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 1, 1, 1, 0]])
    windows = [types.SimpleNamespace(example_index=index) for index in (0, 0, 2)]
    penalty = -10_000.0 * (1 - mask) if ignores_padding else 0
    task = types.SimpleNamespace(windows=windows, _padding_penalty=penalty)
    generator = np.random.default_rng(1)
    outputs = [
        {
            name: generator.normal(size=mask.shape).astype(np.float32)
            for name in ("start_logits", "end_logits")
        }
        for _ in range(3)
    ]
    averaged = SpanLabelerTask.average(task, outputs)
    for name, logits in averaged.items():
        expected = []
        for each in outputs:
            numbers = np.exp(each[name]) * (mask if ignores_padding else 1)
            expected.append(
                np.concatenate([numbers[:2] / numbers[:2].sum(), numbers[2:] / numbers[2:].sum()])
            )
        np.testing.assert_allclose(np.exp(logits), np.mean(expected, axis=0), rtol=1e-5, atol=1e-30)
        assert logits.dtype == np.float32
        assert np.isfinite(logits).all()
