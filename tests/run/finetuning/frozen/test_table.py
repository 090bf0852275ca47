"""The table of all kinds of features, with trainings that only say what they were asked for."""

import csv
import os

import pytest

from bert_tf import models, run_state
from bert_tf.checkpoints import checkpoint_files
from bert_tf.cli.model_settings import ModelSettings, TokenizerSettings
from bert_tf.errors import InputError
from data_prep.tasks import token_classifier
from run.evaluation import results
from run.finetuning import frozen_table as table
from run.finetuning import job
from run.finetuning.frozen_settings import KINDS, FrozenSettings, TaggerSettings
from run.finetuning.settings import TuningSettings
from run.settings import TrainingSettings
from run.tasks import TokenClassifierTask
from tests import state_files, toy_runs
from tests.settings import resolved

ROWS = ("fine_tuned", *KINDS)


class StoppedError(Exception):
    """What ends a table before its end."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory, reference):
    folder = tmp_path_factory.mktemp("table")
    toy_runs.write(folder, reference, {"model": (None, models.BertEncoder)}, num_hidden_layers=4)
    (folder / "train.txt").write_text("line B-X\nstops O\n\n" * 3)
    return folder


@pytest.fixture
def asked(monkeypatch):
    """List of (folder, task, settings) of the trainings that were asked for; the 4th of them is stopped."""
    asked = []

    def run(task_class, settings, techniques):
        asked.append((settings.training.output_dir.rpartition("/")[2], task_class, settings))
        if len(asked) == 4:
            raise StoppedError
        number = ROWS.index(asked[-1][0])
        os.makedirs(settings.training.output_dir, exist_ok=True)
        results.write_results(f"{settings.training.output_dir}/eval_results.txt", {
            "eval_f1": 0.5 + number / 100, "eval_f1_std": 0.001 * number, "loss": 1.0, "eval_precision": 0.25})
        return type("Tuned", (), {"free": lambda self: None})()

    monkeypatch.setattr(job, "run_task", run)
    return asked


def make(folder, **frozen):
    settings = resolved(TaggerSettings(
        ModelSettings(init_checkpoint=str(folder / "model")), TokenizerSettings(max_seq_length=12),
        training=TrainingSettings(output_dir=str(folder / "out")), tuning=TuningSettings(do_train=True, do_eval=True),
        task=token_classifier.Settings(str(folder / "train.txt"), str(folder / "train.txt")),
        frozen=FrozenSettings(all_features=True, runs_per_row=3, **frozen)), {})
    table.run(settings)


def test_a_table_that_was_stopped_goes_on_with_the_row_that_has_none(folder, asked, capsys):
    with pytest.raises(StoppedError):
        make(folder)
    assert [name for name, _, _ in asked] == list(ROWS[:4])
    with (folder / "out" / "table.tsv").open() as file:
        assert [row[0] for row in csv.reader(file, delimiter="\t")] == ["features", *ROWS[:3]]
    make(folder)
    assert [name for name, _, _ in asked[4:]] == list(ROWS[3:])
    with (folder / "out" / "table.tsv").open() as file:
        rows = list(csv.reader(file, delimiter="\t"))
    assert rows[0] == ["features", "eval_f1", "eval_f1_std", "eval_precision"]
    assert rows[2] == ["embeddings", "0.51", "0.001", "0.25"]
    assert [row[0] for row in rows[1:]] == list(ROWS)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-10].startswith("features ")
    assert lines[-8].split() == ["embeddings", "0.5100", "±", "0.0010", "0.2500"]
    assert lines[-1].endswith("out/table.tsv: means and standard deviations of 3 runs a row")


def test_a_row_that_was_stopped_before_its_reports_were_written(folder, asked):
    """Checkpoints of all its runs are there: they go when it has come to its end, one after the other."""
    asked += [None] * 4  # so that none is stopped
    make(folder)
    del asked[4:]
    for number, expected in ((1, []), (2, []), (3, ["last"])):
        run = folder / "out" / "last" / f"run_{number}"
        for other in range(1, number + 1):
            run.with_name(f"run_{other}").mkdir(exist_ok=True)
            run.with_name(f"run_{other}").joinpath("checkpoint").write_text('model_checkpoint_path: "ckpt-1"\n')
        make(folder)
        assert [name for name, _, _ in asked[4:]] == expected
        assert not list(folder.glob("out/*/run_*/checkpoint"))


def test_what_the_rows_are_asked_for(folder, asked):
    for name in ROWS:
        (folder / "out" / name / "eval_results.txt").unlink(missing_ok=True)
    with pytest.raises(StoppedError):
        make(folder)
    (_, fine_tuned, of_fine_tuned), (_, frozen, of_frozen) = asked[:2]
    assert fine_tuned is TokenClassifierTask
    assert frozen.kind == "frozen_token_classifier"
    assert frozen.computes_all_layers
    assert of_fine_tuned.optimizer.learning_rate == 5e-5
    assert (of_frozen.optimizer.learning_rate, of_frozen.frozen.frozen_features) == (1e-3, "embeddings")
    assert of_frozen.vectors_dir == str(folder / "out" / "vectors")
    for each in (of_fine_tuned, of_frozen):
        assert (each.tuning.num_runs, each.training.keep_checkpoint_max, each.training.random_seed) == (3, 1, 12345)


def test_a_table_of_other_settings_or_a_model_too_small(folder, asked, reference):
    asked += [None] * 4  # so that none is stopped
    make(folder)
    data = run_state.fingerprint([str(folder / "train.txt")])
    encoder = checkpoint_files(str(folder / "model"))
    state_files.assert_holds(folder / "out" / "table.json", {
        "init_checkpoint": run_state.fingerprint(encoder, whole=True), "train_file": data, "dev_file": data,
        "token_column": 0, "label_column": -1, "strict": False, "document_context": False, "frozen_features": None,
        "lstm_width": 768, "lstm_dropout": 0.3, "frozen_learning_rate": 1e-3, "frozen_epochs": 10.0,
        "all_features": True, "runs_per_row": 3, "max_seq_length": 12, "do_lower_case": True, "strip_accents": None,
        "mixed_precision": "float32", "train_batch_size": 32, "random_seed": 12345, "num_train_epochs": 3.0,
        "warmup_proportion": 0.1, "eval_steps": None, "early_stopping_evals": None, "group_by_length": True,
        "learning_rate": 5e-5, "optimizer": "adamw", **{name: value for name, value in state_files.CHANGEABLE.items()
                                                        if name not in ("learning_rate", "mixed_precision")}}, end="")
    with pytest.raises(InputError, match="holds a run with `lstm_width` 768, not 5; choose another folder"):
        make(folder, lstm_width=5)
    (folder / "flat").mkdir()
    toy_runs.write(folder / "flat", reference, {"model": (None, models.BertEncoder)}, num_hidden_layers=3)
    (folder / "flat" / "train.txt").write_text((folder / "train.txt").read_text())
    with pytest.raises(InputError, match="needs 4 layers, and the model has 3"):
        make(folder / "flat")
    assert not (folder / "flat" / "out").exists()
