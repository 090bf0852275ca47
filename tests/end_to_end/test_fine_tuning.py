"""What all fine-tuning scripts share, shown with the classifier: best weights, early stopping, seeds, resume."""

import contextlib
import json
import pathlib
import socket

import numpy as np
import pytest

from bert_tf import models
from bert_tf.checkpoints import FORMATS, load_pretrained, model_tensors
from bert_tf.config import BertConfig
from tests import scripts
from tests.end_to_end.test_text_to_served_model import read_results

REFERENCE = pathlib.Path(__file__).parents[1] / "reference"
FLAGS = {"bert_config_file": "bert_config.json", "vocab_file": REFERENCE / "text" / "vocab.txt", "max_seq_length": 16,
         "learning_rate": 1e-2, "random_seed": 7}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a config, a task whose label is a word of the text, and MRPC's files with few rows."""
    folder = tmp_path_factory.mktemp("fine_tuning")
    vocab_size = len((REFERENCE / "text" / "vocab.txt").read_text(encoding="utf-8").splitlines())
    config = BertConfig(vocab_size, 16, 1, 2, 24, max_position_embeddings=32, type_vocab_size=2,
                        hidden_dropout_prob=0.05, initializer_range=0.2)
    (folder / "bert_config.json").write_text(config.to_json())
    for task in ("words", "mrpc"):
        (folder / task).mkdir()
    rows = [f"{'the ' * (number % 5)}{word}\t{word}\n" for number in range(40) for word in ("class", "function")]
    rows[3] = "the " * 30 + "\tclass\n"
    for split, chosen in (("train", rows), ("dev", rows[:20]), ("test", rows[:20])):
        (folder / "words" / f"{split}.tsv").write_text("text\tlabel\n" + "".join(chosen))
    header, *pairs = (REFERENCE / "pairs.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
    for split, chosen in (("train", pairs[:30]), ("test", pairs[30:40])):
        (folder / "mrpc" / f"{split}.tsv").write_text(header + "".join(chosen), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def two_runs(folder):
    """`folder`, with two runs over seeds in words_out/; and the process that made them."""
    done = scripts.run_script(
        "run.run_classifier", folder, task_name="own", data_dir="words", output_dir="words_out", do_train=True,
        do_eval=True, do_predict=True, num_runs=2, train_batch_size=8, num_train_epochs=8.0, eval_steps=10,
        early_stopping_evals=2, **FLAGS)
    assert done.returncode == 0, done.stderr[-3000:]
    return done


def test_the_task_is_learned_and_results_are_means_over_runs(folder, two_runs):
    runs = [read_results(folder / "words_out" / name / "eval_results.txt") for name in ("run_1", "run_2")]
    results = read_results(folder / "words_out" / "eval_results.txt")
    for name in ("eval_accuracy", "eval_loss"):
        values = [run[name] for run in runs]
        assert results[name] == pytest.approx(np.mean(values))
        assert results[f"{name}_std"] == pytest.approx(np.std(values, ddof=1))
    assert results["eval_accuracy"] > 0.8
    assert "best of 2 runs by eval_accuracy: words_out/run_" in two_runs.stdout


def test_the_best_weights_are_kept_and_used(folder, two_runs):
    best_run = pathlib.Path(two_runs.stdout.split("best of 2 runs by eval_accuracy: ")[1].split()[0])
    results = read_results(folder / best_run / "eval_results.txt")
    kept = json.loads((folder / best_run / "best" / "best.json").read_text())
    assert results["global_step"] == kept["step"]
    rows = np.genfromtxt(folder / best_run / "eval_log.csv", delimiter=",", names=True)
    assert rows["eval_accuracy"].max() == pytest.approx(results["eval_accuracy"])
    assert rows["step"][rows["eval_accuracy"].argmax()] == kept["step"]
    assert len(rows) - 1 - rows["eval_accuracy"].argmax() == 2  # early stopping, well before step 80
    assert rows["step"][-1] < 80
    probabilities = np.loadtxt(folder / "words_out" / "test_results.tsv")
    labels = [["class", "function"].index(line.split("\t")[1].strip())
              for line in (folder / "words" / "test.tsv").read_text().splitlines()[1:]]
    assert (probabilities.argmax(axis=1) == labels).mean() == pytest.approx(results["eval_accuracy"])


def test_what_is_cut_is_said_and_the_confusion_drawn(folder, two_runs):
    assert ("train: 80 rows; 1 rows are longer than --max_seq_length=16: 16 of all "
            in two_runs.stderr.replace("\r", "\n")), two_runs.stderr
    assert (folder / "words_out" / "confusion.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.timeout(180)  # it trains three times
def test_a_killed_run_ends_as_one_never_killed(folder):
    """Killed after a checkpoint, the run goes on with the same batches and dropout; and a GLUE file is written."""
    flags = {**FLAGS, "task_name": "mrpc", "data_dir": "mrpc", "do_train": True, "do_predict": True,
             "glue_submission": True, "train_batch_size": 5, "num_train_epochs": 3.0, "save_checkpoints_steps": 4}
    scripts.succeed("run.run_classifier", folder, output_dir="whole", **flags)
    command = scripts.command("run.run_classifier", **flags, output_dir="killed", iterations_per_loop=1)
    scripts.kill_when(command, folder, (folder / "killed" / "checkpoint").exists)  # it names the newest one, ckpt-4
    done = scripts.run_anew("run.run_classifier", folder, output_dir="killed", **flags)
    assert "resuming at step" in done.stdout, done.stderr[-3000:]
    config = BertConfig.from_json_file(folder / "bert_config.json")
    ends = [models.BertClassifier(config, 2) for _ in range(2)]
    for model, name in zip(ends, ("whole", "killed"), strict=True):
        load_pretrained(model, str(folder / name))
    for never_killed, killed in zip(*(model.variables for model in ends), strict=True):
        np.testing.assert_array_equal(never_killed, killed, err_msg=killed.name)
    lines = (folder / "killed" / "MRPC.tsv").read_text().splitlines()
    assert lines[0] == "index\tprediction"
    assert len(lines) == 11
    assert (folder / "killed" / "test_results.tsv").read_text() == (folder / "whole" / "test_results.tsv").read_text()

    kept = {path.name: path.read_bytes() for path in (folder / "killed").iterdir() if path.is_file()}
    assert {"task.json", "run.json", "bert_config.json", "vocab.txt"} <= kept.keys()
    for name, old, new in (("train_batch_size", 5, 6), ("max_seq_length", 16, 12)):
        assert f"--output_dir=killed: holds a run with --{name} {old}, not {new}; choose another folder" in (
            scripts.last_error("run.run_classifier", folder, output_dir="killed", **{**flags, name: new}))
    assert {name: (folder / "killed" / name).read_bytes() for name in kept} == kept  # a refusal changes no file
    scripts.succeed("run.run_classifier", folder, output_dir="killed", **{
        **flags, "do_train": None, "glue_submission": None, "max_seq_length": 12})
    assert (folder / "killed" / "task.json").read_bytes() == kept["task.json"]  # nor do predictions


@pytest.mark.timeout(240)  # two processes must find each other
def test_two_processes_end_well_and_one_of_them_writes(folder):
    """The weights that both use are those of the last evaluation, just written by one of them."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2)]
        addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    command = scripts.command(
        "run.run_classifier", task_name="own", data_dir="words", output_dir="two_processes", do_train=True,
        do_eval=True, do_predict=True, eval_steps=1000, train_batch_size=8, num_train_epochs=1.0,
        distribution_strategy="multi_worker_mirrored", **FLAGS)
    with contextlib.ExitStack() as stack:
        processes = [stack.enter_context(scripts.Process(command, folder, environment={
            "TF_CONFIG": json.dumps({"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}),
            "TMPDIR": str(folder)})) for index in range(2)]
        answers = [process.communicate(timeout=240) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], answers[0][1][-2000:] + answers[1][1][-2000:]
    assert ["eval_accuracy = " in output for output, _ in answers] == [True, False]
    written = folder / "two_processes"
    kept = json.loads((written / "best" / "best.json").read_text())
    assert read_results(written / "eval_results.txt")["global_step"] == kept["step"] == 10
    assert len((written / "test_results.tsv").read_text().splitlines()) == 20
    assert not list(folder.glob("worker_*"))


def test_a_checkpoint_without_the_task_is_only_to_be_trained_on(folder):
    config = BertConfig.from_json_file(folder / "bert_config.json")
    FORMATS["tf1"].write(str(folder / "pretrained"), model_tensors(models.BertEncoder(config)), config)
    message = scripts.last_error("run.run_classifier", folder, task_name="mrpc", data_dir="mrpc", do_predict=True,
                                 output_dir="untrained", init_checkpoint="pretrained", **FLAGS)
    assert ("--init_checkpoint=pretrained: is not of a model that was trained for this task, it lacks output_weights, "
            "output_bias; give --do_train") in message


@pytest.mark.parametrize(("flags", "message"), [
    ({"do_train": True, "eval_steps": 3}, "--eval_steps=3: requires --do_eval"),
    ({"do_train": True, "early_stopping_evals": 2}, "--early_stopping_evals=2: requires --eval_steps"),
    ({"do_train": True, "glue_submission": True}, "--glue_submission=True: requires --do_predict"),
    ({"do_predict": True, "glue_submission": True}, "--glue_submission: GLUE has no task own"),
])
def test_mistakes(folder, flags, message):
    assert message in scripts.fail("run.run_classifier", folder, task_name="own", data_dir="words", output_dir="never",
                                   **FLAGS, **flags)
