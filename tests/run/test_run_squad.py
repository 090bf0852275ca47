"""Scores of answers, batches of windows and the loss of run_squad; and what it says to mistakes."""

import itertools
import json

import numpy as np
import pytest

from data_prep import records
from data_prep.tasks import squad
from data_prep.tasks.squad.answers import CERTAINLY_NULL, Candidate
from run.evaluation import squad_scores
from run.tasks import span_labeler
from run.training.host_batches import WHOLE, HostShare
from tests import scripts

LENGTH, BATCH_SIZE, NUM_RECORDS = 11, 2, 13
FEATURES = squad.record_features(LENGTH, is_training=True)


def example(id_, *answers):
    return squad.Example(id_, "question", "context", answers=answers)


def answers_of(texts, null_odds=None):
    """Answers with one candidate a question; `texts`: dict from id to text."""
    return squad.Answers({id_: [Candidate(text, 1.0, 2.0)] for id_, text in texts.items()}, null_odds)


def test_scores_of_squad_1():
    examples = [example("1", "the red fox", "fox"), example("2", "b c"), example("3", "d e f g")]
    scores = squad_scores.score(examples, answers_of({"1": "A red fox!", "2": "x", "3": "d e"}), 0.0)
    # Articles and punctuation do not count. Of "d e": precision 1, recall 1/2.
    assert scores == pytest.approx({"exact_match": 100 / 3, "f1": 100 * (1 + 0 + 2 / 3) / 3})


def test_scores_of_squad_2_and_the_best_threshold():
    examples = [example("1", "b"), example("2"), example("3", "c d"), example("4"), example("5", "e")]
    answers = answers_of({"1": "b", "2": "x", "3": "c", "4": "y", "5": ""},
                         {"1": -3.0, "2": 4.0, "3": 2.0, "4": -1.0, "5": CERTAINLY_NULL})
    scores = squad_scores.score(examples, answers, 0.0)
    # 1 is right, 2 rightly without answer, 3 wrongly without, 4 wrongly answered, 5 wrongly without.
    assert {name: scores[name] for name in scores if "best" not in name} == pytest.approx(
        {"exact": 40, "f1": 40, "HasAns_exact": 100 / 3, "HasAns_f1": 100 / 3, "NoAns_exact": 50, "NoAns_f1": 50})
    # Exact: at -3 1, 2 and 4 are right, then fewer. F1: at -3 again 3, at 2 1 and 2 and 2/3 of 3.
    assert (scores["best_exact"], scores["best_exact_thresh"]) == (60, -3)
    assert (scores["best_f1"], scores["best_f1_thresh"]) == (60, -3)
    at_best = squad_scores.score(examples, answers, scores["best_f1_thresh"])
    assert at_best["f1"] == scores["best_f1"]


def test_where_no_answer_at_all_is_best_the_threshold_lets_none_through():
    examples = [example("1", "b"), example("2"), example("3")]
    answers = answers_of({"1": "x", "2": "y", "3": "z"}, {"1": -5.0, "2": 3.0, "3": -7.0})
    best = squad_scores.best_thresholds(examples, answers)
    assert best["best_f1"] == pytest.approx(200 / 3)
    assert set(answers.choose(best["best_f1_thresh"]).values()) == {""}


def test_scores_of_korquad():
    examples = [example("1", "1989년 2월 15일"), example("2", "〈대전〉시", "서울")]
    scores = squad_scores.score(examples, answers_of({"1": "1989년 2월", "2": "'서울'!"}), 0.0, "korquad")
    # 7 characters, all of them in the 10 of the right answer: 2 * 7 / 17.
    assert scores == pytest.approx({"exact_match": 50, "f1": 100 * (14 / 17 + 1) / 2})


@pytest.mark.parametrize(("examples", "is_v2", "message"), [
    ([example("1", "b"), example("2")], False,
     r"1 of 2 questions have no answers to compare with \(SQuAD 2.0 needs `version_2_with_negative`\)"),
    ([squad.Example("1", "q", "c"), example("2")], True, "1 of 2 questions have no answers to compare with$"),
])
def test_questions_that_cannot_be_scored(examples, is_v2, message):
    with pytest.raises(ValueError, match=message):
        squad_scores.check_answers(examples, is_v2)


@pytest.fixture(scope="module")
def record_file(tmp_path_factory):
    """Records whose lengths are 5, 6, ..., 11, 5, ... and whose numbers are their unique_ids."""
    path = str(tmp_path_factory.mktemp("records") / "train.tf_record")
    numbers = np.arange(NUM_RECORDS)[:, np.newaxis]
    mask = (np.arange(LENGTH) < 5 + numbers % 7).astype(int)
    with records.RecordWriter(path, FEATURES) as writer:
        writer.write({"unique_ids": numbers, "input_ids": mask * (numbers + 1), "input_mask": mask,
                      "segment_ids": mask, "start_positions": numbers % 4, "end_positions": numbers % 5,
                      "is_impossible": numbers % 2})
    return path


def batches(record_file, num_batches, first_step=0, seed=3, group_by_length=True, share=WHOLE):
    data = span_labeler.training_batches(record_file, FEATURES, NUM_RECORDS, BATCH_SIZE, seed, first_step, share,
                                               group_by_length)
    return list(data.take(num_batches).as_numpy_iterator())


def ids_of(batches):
    return [batch["unique_ids"][:, 0].tolist() for batch in batches]


def test_batches_hold_every_record_equally_often(record_file):
    # 78 batches of 2 records are 12 epochs of 13; of grouped ones, 6 make up a window of random order.
    for group_by_length in (True, False):
        ids = itertools.chain.from_iterable(ids_of(batches(record_file, 78, group_by_length=group_by_length)))
        assert sorted(ids) == sorted(12 * list(range(NUM_RECORDS)))


def test_batches_are_of_similar_lengths_and_cut(record_file):
    for batch in batches(record_file, 6):
        lengths = batch["input_mask"].sum(axis=1)
        assert batch["input_ids"].shape == (BATCH_SIZE, lengths.max())
        assert lengths.max() - lengths.min() <= 1
        assert batch["start_positions"].shape == (BATCH_SIZE, 1)
        np.testing.assert_array_equal(batch["input_ids"], batch["input_mask"] * (batch["unique_ids"] + 1))
    assert all(batch["input_ids"].shape == (BATCH_SIZE, LENGTH)
               for batch in batches(record_file, 6, group_by_length=False))


@pytest.mark.parametrize("group_by_length", [True, False])
def test_rows_of_two_hosts_are_the_batches_of_one(record_file, group_by_length):
    hosts = [batches(record_file, 9, 5, group_by_length=group_by_length, share=HostShare(index, 2))
             for index in range(2)]
    for *parts, whole in zip(*hosts, batches(record_file, 9, 5, group_by_length=group_by_length), strict=True):
        for name, values in whole.items():
            np.testing.assert_array_equal(np.concatenate([part[name] for part in parts]), values)


@pytest.mark.parametrize("group_by_length", [True, False])
def test_batches_go_on_where_a_run_stopped(record_file, group_by_length):
    expected = ids_of(batches(record_file, 20, group_by_length=group_by_length))
    for first_step in (1, 6, 9):
        assert ids_of(batches(record_file, 11, first_step, group_by_length=group_by_length)) == (
            expected[first_step : first_step + 11])
    assert ids_of(batches(record_file, 20, seed=4, group_by_length=group_by_length)) != expected


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Flags of a run that is right, with small files."""
    folder = tmp_path_factory.mktemp("files")
    question = {"id": "1", "question": "a?", "answers": [{"text": "b", "answer_start": 2}]}
    content = {"data": [{"paragraphs": [{"context": "a b", "qas": [question]}]}]}
    (folder / "one.json").write_text(json.dumps(content))
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n")
    (folder / "bert_config.json").write_text(json.dumps(
        {"vocab_size": 9, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 12,
         "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1,
         "max_position_embeddings": 64, "type_vocab_size": 2, "initializer_range": 0.02}))
    return {"bert_config_file": folder / "bert_config.json", "vocab_file": folder / "vocab.txt",
            "train_file": folder / "one.json", "predict_file": folder / "one.json", "output_dir": folder / "out",
            "max_seq_length": 40, "max_query_length": 20, "doc_stride": 17, "do_train": True, "do_predict": True}


@pytest.mark.parametrize(("flags", "message"), [
    ({"do_train": None, "do_predict": None}, "nothing to do: give --do_train, --do_eval or --do_predict"),
    ({"train_file": None}, "--train_file is required"),
    ({"predict_file": "none.json"}, "--predict_file=none.json: no such file"),
    ({"max_seq_length": 128}, "--max_seq_length=128: the model was made for at most 64"),
    ({"max_query_length": 37}, "--max_seq_length=40: must be greater than --max_query_length + 3, which is 40"),
    ({"version_2_with_negative": True}, "has no 'is_impossible', so this is no SQuAD 2.0"),
    ({"use_best_threshold": True}, "--use_best_threshold=True: requires --version_2_with_negative"),
    ({"version_2_with_negative": True, "answer_metric": "korquad"},
     "--answer_metric=korquad: cannot be combined with --version_2_with_negative"),
    ({"num_train_epochs": 0.5}, "--train_batch_size=32: 0.5 epochs of 1 examples do not fill one batch"),
])
def test_mistakes(files, flags, message):
    assert message in scripts.fail("run.run_squad", **{**files, **flags})


def test_a_stride_beyond_the_shortest_window_is_told(files):
    done = scripts.run_script("run.run_squad", **{**files, "doc_stride": 18})
    assert done.stderr.startswith("--doc_stride=18: windows after long questions are shorter and do not overlap")
