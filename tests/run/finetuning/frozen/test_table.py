"""The table of all kinds of features. Fake trainings record their settings."""

import csv
import os

import pytest

from bert_tf import models
from bert_tf.checkpoints import checkpoint_files
from bert_tf.cli import run_state
from bert_tf.errors import InputError
from run.evaluation import results
from run.finetuning import job
from run.finetuning.frozen_settings import KINDS
from run.tasks import TokenClassifierTask
from tests import scripts, state_files, toy_runs

ROWS = ("fine_tuned", *KINDS)


class StoppedError(Exception):
    """The end of an interrupted table."""


@pytest.fixture(scope="module")
def model(tmp_path_factory, reference):
    folder = tmp_path_factory.mktemp("table")
    toy_runs.write(folder, reference, {"model": (None, models.BertEncoder)}, num_hidden_layers=4)
    return folder / "model"


@pytest.fixture
def make(model, tmp_path):
    """Function that makes the table in tmp_path/out."""
    (tmp_path / "train.txt").write_text("line B-X\nstops O\n\n" * 3)
    data = dict.fromkeys(("train_file", "dev_file"), tmp_path / "train.txt")
    return lambda **flags: scripts.run_here("run.run_tagger", **{
        "init_checkpoint": model, "max_seq_length": 12, "output_dir": tmp_path / "out", "do_train": True,
        "do_eval": True, "all_features": True, "runs_per_row": 3, **data, **flags})


@pytest.fixture
def trained(monkeypatch):
    """List of (row, task class, settings) of the trainings so far. The fourth is interrupted."""
    trained = []

    def run(task_class, settings, techniques):
        trained.append((settings.training.output_dir.rpartition("/")[2], task_class, settings))
        if len(trained) == 4:
            raise StoppedError
        number = ROWS.index(trained[-1][0])
        os.makedirs(settings.training.output_dir, exist_ok=True)
        results.write_results(f"{settings.training.output_dir}/eval_results.txt", {
            "eval_f1": 0.5 + number / 100, "eval_f1_std": 0.001 * number, "loss": 1.0, "eval_precision": 0.25})
        return type("Tuned", (), {"free": lambda self: None})()

    monkeypatch.setattr(job, "run_task", run)
    return trained


def read_table(folder):
    with (folder / "out" / "table.tsv").open() as file:
        return list(csv.reader(file, delimiter="\t"))


def test_an_interrupted_table_resumes_with_the_first_row_without_results(make, trained, tmp_path, capsys):
    with pytest.raises(StoppedError):
        make()
    assert [name for name, *_ in trained] == list(ROWS[:4])
    assert [row[0] for row in read_table(tmp_path)] == ["features", *ROWS[:3]]
    make()
    assert [name for name, *_ in trained[4:]] == list(ROWS[3:])
    header, *rows = read_table(tmp_path)
    assert header == ["features", "eval_f1", "eval_f1_std", "eval_precision"]
    assert rows[1] == ["embeddings", "0.51", "0.001", "0.25"]
    assert [row[0] for row in rows] == list(ROWS)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-8].split() == ["embeddings", "0.5100", "±", "0.0010", "0.2500"]
    assert lines[-1].endswith("out/table.tsv: means and standard deviations of 3 runs per row")

    (_, task, fine_tuned), (_, frozen_task, frozen) = trained[:2]
    assert task is TokenClassifierTask
    assert (frozen_task.kind, frozen.computes_all_layers) == ("frozen_token_classifier", True)
    assert fine_tuned.optimizer.learning_rate == 5e-5
    assert (frozen.optimizer.learning_rate, frozen.frozen.frozen_features) == (1e-3, "embeddings")
    assert frozen.vectors_dir == str(tmp_path / "out" / "vectors")
    for each in (fine_tuned, frozen):
        assert (each.tuning.num_runs, each.training.keep_checkpoint_max, each.training.random_seed) == (3, 1, 12345)


def test_a_row_that_was_interrupted_before_its_results(make, trained, tmp_path):
    """A row with checkpoints of all of its runs is trained again; checkpoints of finished rows are deleted."""
    trained += [None] * 4  # No training is interrupted.
    make()
    del trained[4:]
    for number, expected in ((1, []), (2, []), (3, ["last"])):
        for other in range(1, number + 1):
            run = tmp_path / "out" / "last" / f"run_{other}"
            run.mkdir(exist_ok=True)
            (run / "checkpoint").write_text('model_checkpoint_path: "ckpt-1"\n')
        make()
        assert [name for name, *_ in trained[4:]] == expected
        assert not list(tmp_path.glob("out/*/run_*/checkpoint"))


def test_a_table_has_the_settings_of_its_first_start(make, model, trained, tmp_path):
    trained += [None] * 4
    make()
    data = run_state.fingerprint([str(tmp_path / "train.txt")])
    state_files.assert_holds(tmp_path / "out" / "table.json", {
        "init_checkpoint": run_state.fingerprint(checkpoint_files(str(model)), is_complete=True), "train_file": data,
        "dev_file": data, "token_column": 0, "label_column": -1, "treebank_column": None, "strict": False,
        "document_context": False, "frozen_features": None, "lstm_width": 768, "lstm_dropout": 0.3,
        "frozen_learning_rate": 1e-3, "frozen_epochs": 10.0, "all_features": True, "runs_per_row": 3,
        "max_seq_length": 12, "do_lower_case": True, "strip_accents": None, "mixed_precision": "float32",
        "train_batch_size": 32, "random_seed": 12345, "num_train_epochs": 3.0, "warmup_proportion": 0.1,
        "eval_steps": None, "early_stopping_evals": None, "group_by_length": True, "learning_rate": 5e-5,
        "optimizer": "adamw",
        **{name: value for name, value in state_files.CHANGEABLE.items()
           if name not in ("learning_rate", "mixed_precision")}}, end="")
    with pytest.raises(InputError, match="contains a run with `lstm_width` 768, not 5; choose another directory"):
        make(lstm_width=5)


def test_a_model_with_too_few_layers(make, tmp_path, reference):
    toy_runs.write(tmp_path, reference, {"flat": (None, models.BertEncoder)}, num_hidden_layers=3)
    with pytest.raises(InputError, match="requires at least 4 layers, but the model has 3"):
        make(init_checkpoint=tmp_path / "flat")
    assert not (tmp_path / "out").exists()
