"""The hyperparameter search with fake trainings: its trials, the best one, and files."""

import csv
import json
import types

import pytest
import tensorflow as tf

from bert_tf.checkpoints import TokenizerFiles, training_run
from bert_tf.config import BertConfig
from run.finetuning.experiment import Experiment, Trained
from run.finetuning.search import search
from run.finetuning.settings import FineTuningSettings
from run.techniques.settings import TrainedWeightsSettings
from run.training import model_files
from run.training.loop import DivergedError
from run.training.settings import TrainingSettings
from tests.errors import rejects
from tests.run.finetuning.toy_task import Task

SCORES = {
    "batch8_lr0.1_epochs1": 0.25,
    "batch8_lr0.1_epochs2": 0.75,
    "batch8_lr0.5_epochs1": 0.5,
    "batch8_lr0.5_epochs2": 0.75,
}


class Weight(tf.Module):
    def __init__(self, value):
        super().__init__()
        self.weight = tf.Variable(value)


@pytest.fixture
def searched(tmp_path, monkeypatch):
    """Function (scores, **settings of the search) -> name of the best run.

    Its attribute `ran` lists all runs. A run creates a checkpoint and has its score in `scores`, or
    diverges if that is None.
    """

    def run(scores, **values):
        def train_once(experiment, settings):
            folder = tmp_path / settings.training.output_dir
            is_training = settings.do_train
            run.ran.append((folder.name, is_training))
            if is_training:
                # A killed trial is unfinished.
                assert not (folder / training_run.TRIAL_FILE).exists()
                folder.mkdir(parents=True, exist_ok=True)
                (folder / "checkpoint").write_text('model_checkpoint_path: "ckpt-7"')
                for name in ("ckpt-7.index", "loss.png"):
                    (folder / name).touch()
            if scores[folder.name] is None:
                raise DivergedError("step 3: the loss is not a finite number")
            results = {
                "eval_accuracy": scores[folder.name],
                "loss": 2.0,
                "eval_loss": 2.0,
                "global_step": 7,
            }
            trained = types.SimpleNamespace(
                folder=str(folder),
                model=Weight(scores[folder.name]),
                writes=True,
                free=lambda: None,
            )
            return Trained(trained, folder.name, results, {})

        monkeypatch.setattr(Experiment, "train_once", train_once)
        settings = FineTuningSettings(
            training=TrainingSettings(output_dir=str(tmp_path)),
            do_eval=True,
            trained_weights=TrainedWeightsSettings(lora_rank=2),  # Only allowed in training.
            do_train=True,
            search=True,
            **{
                "search_batch_sizes": (8,),
                "search_learning_rates": (0.1, 0.5),
                "search_epochs": (1.0, 2.0),
                **values,
            },
        )
        for each in settings.runs:
            model_files.save_run_files(
                each.training.output_dir, BertConfig(11, 6, 1, 2, 7), TokenizerFiles()
            )
        monkeypatch.setattr(Experiment, "save_files", lambda *_: None)
        experiment = Experiment(tf.distribute.get_strategy(), Task.open(settings))
        return search(experiment).predictor

    run.ran = []
    return run


def with_checkpoints(folder):
    return sorted(path.parent.name for path in folder.glob("search/*/ckpt-*"))


def test_the_best_trial_is_used_and_only_it_keeps_its_checkpoints(tmp_path, searched, capsys):
    tuned = searched(SCORES)
    best = "batch8_lr0.1_epochs2"  # The first of two equal scores.
    assert searched.ran == [*((name, True) for name in SCORES), (best, False)]
    assert tuned == best
    assert with_checkpoints(tmp_path) == [best]
    assert (tmp_path / "search" / "batch8_lr0.5_epochs2" / "loss.png").exists()
    output = capsys.readouterr().out
    assert "search: trial 2 of 4, batch8_lr0.1_epochs2\n" in output
    assert (
        "\n".join(
            [
                "batch size  learning rate  epochs  steps  eval_accuracy  eval_loss",
                "         8            0.1       1      7         0.2500     2.0000",
                "         8            0.1       2      7         0.7500     2.0000  best",
                "         8            0.5       1      7         0.5000     2.0000",
                "         8            0.5       2      7         0.7500     2.0000",
                f"best of 4 trials by eval_accuracy: {tmp_path}/search/{best}; "
                f"its weights are in {tmp_path}\n",
            ]
        )
        in output
    )
    assert output.endswith("eval_accuracy = 0.75\neval_loss = 2\nglobal_step = 7\n")

    with open(tmp_path / "search" / "search.tsv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert [row["folder"] for row in rows] == list(SCORES)
    assert rows[1] == {
        "train_batch_size": "8",
        "learning_rate": "0.1",
        "num_train_epochs": "2.0",
        "eval_accuracy": "0.75",
        "eval_loss": "2.0",
        "loss": "2.0",
        "global_step": "7",
        "folder": "batch8_lr0.1_epochs2",
    }
    weight = Weight(0.0)
    tf.train.Checkpoint(model=weight).restore(
        tf.train.latest_checkpoint(str(tmp_path))
    ).expect_partial()
    assert float(weight.weight) == 0.75
    assert training_run.has_run(str(tmp_path))


def test_a_search_resumes_with_missing_trials(tmp_path, searched):
    searched(SCORES, search_learning_rates=(0.1,))
    # The directory looks as if the process had been killed.
    (tmp_path / "search" / "batch8_lr0.1_epochs1" / "checkpoint").touch()
    searched.ran.clear()
    searched({**SCORES, "batch8_lr0.5_epochs1": 0.875})
    assert searched.ran == [
        ("batch8_lr0.5_epochs1", True),
        ("batch8_lr0.5_epochs2", True),
        ("batch8_lr0.5_epochs1", False),
    ]
    assert with_checkpoints(tmp_path) == ["batch8_lr0.5_epochs1"]
    assert not (tmp_path / "search" / "batch8_lr0.1_epochs1" / "checkpoint").exists()
    assert sorted(path.name for path in tmp_path.glob("ckpt-*.index")) == ["ckpt-7.index"]

    with rejects(None, "batch8_lr0.1_epochs2 has no weights", "delete it", "run the sea"):
        searched(SCORES, search_learning_rates=(0.1,))


def test_a_trial_that_diverges_is_a_row_of_the_table(tmp_path, searched, capsys):
    scores = {**SCORES, "batch8_lr0.5_epochs1": None}
    assert searched(scores) == "batch8_lr0.1_epochs2"
    output = capsys.readouterr().out
    assert "batch8_lr0.5_epochs1: step 3: the loss is not a finite number\n" in output
    assert (
        "         8            0.5       1                     -          -  diverged\n" in output
    )
    trial = json.loads((tmp_path / "search" / "batch8_lr0.5_epochs1" / "trial.json").read_text())
    assert trial["results"] == {}
    searched.ran.clear()
    searched(scores)
    assert searched.ran == [("batch8_lr0.1_epochs2", False)]
    with rejects("search", "the loss was not finite", "1 trials"):
        searched(scores, search_learning_rates=(0.5,), search_epochs=(1.0,))
