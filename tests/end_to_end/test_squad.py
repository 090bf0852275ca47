"""Question answering end to end: training, evaluation, predictions, and the best threshold."""

import json

import numpy as np
import pytest

from bert_tf.checkpoints import ModelDirectory
from bert_tf.tasks.metadata import TaskMetadata
from tests import scripts
from tests.end_to_end import toy_files
from tests.end_to_end.toy_files import ANSWERS, read_results
from tests.errors import check_message

pytestmark = pytest.mark.large

LENGTHS = {"max_seq_length": 24, "doc_stride": 7, "max_query_length": 5}
MODEL = {
    "bert_config_file": "bert_config.json",
    "vocab_file": toy_files.VOCABULARY,
    "version_2_with_negative": True,
    "do_predict": True,
    **LENGTHS,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A directory with a config and the files of a task."""
    folder = tmp_path_factory.mktemp("squad")
    toy_files.write_config(folder)
    toy_files.write_squad(folder / "train.json")
    toy_files.write_squad(folder / "test.json", is_test=True)
    return folder


@pytest.fixture(scope="module")
def training_process(folder):
    """A run in trained/; returns the process that trained it."""
    done = scripts.run_script(
        "run.run_squad",
        folder,
        output_dir="trained",
        train_file="train.json",
        predict_file="train.json",
        do_train=True,
        do_eval=True,
        eval_steps=20,
        use_best_threshold=True,
        train_batch_size=8,
        learning_rate=1e-2,
        num_train_epochs=12.0,
        random_seed=11,
        **MODEL,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done


def read_json(folder, name):
    return json.loads((folder / name).read_text())


def test_task_is_learned_and_its_files_are_written(folder, training_process):
    output = folder / "trained"
    results = read_results(output / "eval_results.txt")
    predictions, null_odds, nbest = (
        read_json(output, f"{name}.json")
        for name in ("predictions", "null_odds", "nbest_predictions")
    )
    assert (
        set(predictions) == set(null_odds) == set(nbest) == {f"q{number}" for number in range(40)}
    )
    right = [
        predictions[f"q{number}"] == ("" if number % 5 == 4 else ANSWERS[number % 3].title())
        for number in range(40)
    ]
    assert 100 * np.mean(right) == pytest.approx(results["eval_exact"])
    assert results["eval_f1"] == pytest.approx(results["eval_best_f1"])
    assert results["eval_f1"] > 80
    assert results["eval_null_score_diff_threshold"] == results["eval_best_f1_thresh"]
    assert {
        question: odds > results["eval_best_f1_thresh"] for question, odds in null_odds.items()
    } == {question: not text for question, text in predictions.items()}
    for candidates in nbest.values():
        assert sum(candidate["probability"] for candidate in candidates) == pytest.approx(1)
    assert ModelDirectory.open(output).task == TaskMetadata(
        "span_labeler", do_lower_case=True, **LENGTHS
    )
    # Steps count the 39 questions that are used, 39 / 8 * 12, and not their windows.
    assert np.genfromtxt(output / "eval_log.csv", delimiter=",", names=True)["step"].tolist() == [
        20,
        40,
        58,
    ]
    check_message(
        training_process.stderr,
        None,
        "train.json",
        "1 questions are skipped",
        "not at its answer_start",
    )
    check_message(
        training_process.stderr, None, "1 questions are truncated", "--max_query_length=5 tokens"
    )


def test_predictions_with_a_known_threshold(folder, training_process):
    """Questions without answers are not evaluated.

    Batches contain padding, and the last one is not full.
    """
    threshold = read_results(folder / "trained" / "eval_results.txt")["eval_best_f1_thresh"]
    done = scripts.run_script(
        "run.run_squad",
        folder,
        output_dir="answers",
        init_checkpoint="trained/best",
        predict_file="test.json",
        null_score_diff_threshold=threshold,
        group_by_length=False,
        predict_batch_size=7,
        verbose_logging=True,
        **MODEL,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    check_message(
        done.stderr,
        None,
        "test.json",
        "not evaluated",
        "40 of 40 questions",
        "no reference answers",
    )
    check_message(
        done.stderr,
        None,
        "tokenization changes the length",
        "using complete words",
        "for the answer: 'of",
    )
    assert not (folder / "answers" / "eval_results.txt").exists()
    old, new = (read_json(folder / name, "predictions.json") for name in ("trained", "answers"))
    assert list(old) == list(new)
    # Padding can be among the best starts and ends, which rarely changes an answer.
    assert sum(old[question] == new[question] for question in old) >= 38


@pytest.mark.usefixtures("training_process")
def test_ensembles(folder):
    """Two equal runs answer like one of them."""
    flags = {
        "predict_file": "train.json",
        "do_eval": True,
        "null_score_diff_threshold": 0.5,
        **{
            name: value
            for name, value in MODEL.items()
            if name not in ("bert_config_file", "vocab_file")
        },
    }
    scripts.succeed("run.run_squad", folder, output_dir="trained", **flags)
    scripts.succeed(
        "run.run_squad", folder, output_dir="twice", ensemble="trained,trained", **flags
    )
    for name in ("predictions.json", "null_odds.json"):
        assert read_json(folder / "twice", name) == pytest.approx(
            read_json(folder / "trained", name), abs=1e-4
        )
