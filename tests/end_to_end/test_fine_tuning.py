"""Fine-tuning with several seeds, evaluations during training, and early stopping."""

import pathlib

import numpy as np
import pytest

from tests import scripts
from tests.end_to_end.toy_files import ANSWERS, VOCABULARY, read_results
from tests.errors import check_message

pytestmark = pytest.mark.large


@pytest.fixture(scope="module")
def two_runs(words_folder):
    """Two runs over seeds in words_out/; returns the process that trained them."""
    done = scripts.run_script(
        "run.run_classifier",
        words_folder,
        task_name="custom",
        data_dir="words",
        output_dir="words_out",
        do_train=True,
        do_eval=True,
        do_predict=True,
        num_runs=2,
        train_batch_size=8,
        num_train_epochs=8.0,
        eval_steps=10,
        early_stopping_evals=2,
        bert_config_file="bert_config.json",
        vocab_file=VOCABULARY,
        max_seq_length=16,
        learning_rate=1e-2,
        random_seed=7,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done


def test_task_is_learned_and_results_are_means_over_runs(words_folder, two_runs):
    output = words_folder / "words_out"
    runs = [read_results(output / name / "eval_results.txt") for name in ("run_1", "run_2")]
    results = read_results(output / "eval_results.txt")
    for name in ("eval_accuracy", "eval_loss"):
        values = [run[name] for run in runs]
        assert results[name] == pytest.approx(np.mean(values))
        assert results[f"{name}_std"] == pytest.approx(np.std(values, ddof=1))
    assert results["eval_accuracy"] > 0.8
    assert (output / "confusion.png").read_bytes().startswith(b"\x89PNG")
    check_message(
        two_runs.stderr, None, "train: 80 rows", "1 rows are longer than --max_seq_length=16"
    )


def test_best_weights_are_used(words_folder, two_runs):
    best_run = pathlib.Path(
        two_runs.stdout.split("best of 2 runs by eval_accuracy: ")[1].split()[0]
    )
    results = read_results(words_folder / best_run / "eval_results.txt")
    assert (words_folder / best_run / "best" / f"ckpt-{results['global_step']:.0f}.index").exists()
    rows = np.genfromtxt(words_folder / best_run / "eval_log.csv", delimiter=",", names=True)
    assert rows["eval_accuracy"].max() == pytest.approx(results["eval_accuracy"])
    best_losses = np.where(
        rows["eval_accuracy"] == rows["eval_accuracy"].max(), rows["eval_loss"], np.inf
    )
    assert rows["step"][best_losses.argmin()] == results["global_step"]
    assert len(rows) - 1 - rows["eval_accuracy"].argmax() == 2  # Early stopping.
    assert rows["step"][-1] < 80
    probabilities = np.loadtxt(words_folder / "words_out" / "test_results.tsv")
    labels = [
        ANSWERS.index(line.split("\t")[1])
        for line in (words_folder / "words" / "test.tsv").read_text().splitlines()[1:]
    ]
    assert (probabilities.argmax(axis=1) == labels).mean() == pytest.approx(
        results["eval_accuracy"]
    )


@pytest.mark.usefixtures("two_runs")
def test_an_ensemble_has_the_mean_of_the_probabilities(words_folder):
    """The test file has the rows of the development file, so its labels are known."""
    flags = {
        "task_name": "custom",
        "data_dir": "words",
        "do_eval": True,
        "do_predict": True,
        "max_seq_length": 16,
    }
    members = [f"words_out/run_{number}" for number in (1, 2)]
    probabilities = []
    for member in members:
        scripts.succeed("run.run_classifier", words_folder, output_dir=member, **flags)
        probabilities.append(np.loadtxt(words_folder / member / "test_results.tsv"))
    output = scripts.succeed(
        "run.run_classifier", words_folder, ensemble=",".join(members), output_dir="both", **flags
    )
    found = np.loadtxt(words_folder / "both" / "test_results.tsv")
    expected = np.mean(probabilities, axis=0)
    assert np.abs(np.diff(probabilities, axis=0)).max() > 0.005
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    labels = [
        ANSWERS.index(line.split("\t")[1])
        for line in (words_folder / "words" / "test.tsv").read_text().splitlines()[1:]
    ]
    results = read_results(words_folder / "both" / "eval_results.txt")
    assert results["eval_accuracy"] == pytest.approx(np.mean(expected.argmax(axis=1) == labels))
    assert results["eval_loss"] == pytest.approx(
        -np.log(expected[np.arange(len(labels)), labels]).mean(), rel=1e-4
    )
    for member in members:
        accuracy = read_results(words_folder / member / "eval_results.txt")["eval_accuracy"]
        assert f"{member}: eval_accuracy = {accuracy:.4g}\n" in output
    assert sorted(path.name for path in (words_folder / "both").iterdir()) == [
        "confusion.png",
        "eval_results.txt",
        "test_results.tsv",
    ]
