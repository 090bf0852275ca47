"""The training loop, with a model of one weight and results of evaluations that the test sets."""

import csv
import functools
import itertools
import os
import signal

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.checkpoints.training_run import find_latest_checkpoint, has_run
from bert_tf.errors import InputError
from bert_tf.files.local import Local
from run.training import checkpoints, loop, preemption, progress
from tests.errors import check_message, rejects
from tests.run.training.toy_loop import (
    batches,
    evaluate_by_step,
    start,
    train,
)


def read_rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]


def test_evaluations_best_weights_and_early_stopping(tmp_path, capsys):
    settings = {
        "eval_steps": 2,
        "best_metric": "accuracy",
        "early_stopping_evals": 3,
        "save_checkpoints_steps": 5,
    }
    seen = {}
    run, model = start(tmp_path, **settings)
    results = train(run, batches, evaluate_by_step(run, model, seen))
    # 0.9 at step 10 is not an improvement over 0.9 at step 4.
    assert list(seen) == [2, 4, 6, 8, 10]
    assert results == {"accuracy": 0.9, "eval_loss": 2.0}
    assert (
        "training stopped at step 10: accuracy has not improved in 3 evaluations; "
        "the best is from step 4" in (capsys.readouterr().out)
    )
    assert [row["step"] for row in read_rows(tmp_path / "eval_log.csv")] == list(seen)
    assert sorted(os.listdir(tmp_path / "best")) == [
        "checkpoint",
        "ckpt-4.data-00000-of-00001",
        "ckpt-4.index",
    ]
    assert float(model.weight) == seen[10] != seen[4]
    assert run.restore_best() == 4
    assert float(model.weight) == seen[4]

    curves = (tmp_path / "loss.png").read_bytes()
    (tmp_path / "loss.png").rename(tmp_path / "loss.png.partial")  # As if killed while drawing.
    again, model = start(tmp_path, **settings)
    assert train(again, batches, evaluate_by_step(again, model, seen)) is None
    assert "training stopped at step 10" in capsys.readouterr().out
    assert (tmp_path / "loss.png").read_bytes() == curves
    assert not (tmp_path / "loss.png.partial").exists()
    assert again.step == 10
    assert again.restore_best() == 4


def read_tags(folder):
    """Returns the tags of the scalars in the event files of a directory, a set."""
    events = itertools.chain(
        *(tf.compat.v1.train.summary_iterator(str(path)) for path in folder.glob("events.*"))
    )
    return {value.tag for event in events for value in event.summary.value}


def test_tags_of_tensorboard(tmp_path):
    """All columns of the logs, and the speeds."""
    run, model = start(tmp_path, eval_steps=4, best_metric="accuracy")
    train(run, batches, evaluate_by_step(run, model, {}))
    columns = {*read_rows(tmp_path / "training_log.csv")[0]} - {"step"}
    assert columns >= {"loss", "learning_rate", "gradient_norm", "largest_gradient_norm"}
    speeds = {"steps_per_second", "examples_per_second", "tokens_per_second"}
    assert read_tags(tmp_path) == columns | speeds
    assert read_tags(tmp_path / "eval") == {"accuracy", "eval_loss"}


def test_of_equal_scores_the_one_with_the_lowest_loss_is_the_best(tmp_path):
    run, _ = start(tmp_path, eval_steps=2, best_metric="accuracy")
    losses = {2: 0.5, 4: 0.25, 6: 0.25, 8: 0.75}
    train(run, batches, lambda: {"accuracy": 0.75, "loss": losses.get(run.step, 1.0)})
    assert run.restore_best() == 4


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_signals_wait_until_training_can_stop(number, status):
    with preemption.Preemption() as received:
        received.check()
        signal.raise_signal(number)
        with pytest.raises(preemption.PreemptionExit) as caught:
            received.check()
        assert caught.value.code == status
        if number == signal.SIGINT:
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(number)


@pytest.mark.large
@pytest.mark.parametrize(
    ("settings", "steps"),
    [
        ({}, [*range(10, 213, 10), 213]),
        (
            {"log_steps": 60, "save_checkpoints_steps": 100, "eval_steps": 80},
            [60, 80, 100, 120, 160, 180, 200, 213],
        ),
        ({"log_steps": 60, "iterations_per_loop": 40}, [40, 60, 80, 120, 160, 180, 200, 213]),
    ],
)
def test_steps_of_the_log_do_not_depend_on_the_clock(tmp_path, monkeypatch, settings, steps):
    monkeypatch.setattr(
        loop.time, "monotonic", iter(np.random.default_rng(1).random(99).cumsum() * 9).__next__
    )
    run, _ = start(tmp_path, steps=213, **settings)
    train(run, batches, (lambda: {"accuracy": 0.5}) if "eval_steps" in settings else None)
    assert [row["step"] for row in read_rows(tmp_path / "training_log.csv")] == steps


def test_a_loss_that_is_not_finite_ends_the_run_and_saves_nothing(tmp_path):
    run, _ = start(tmp_path, save_checkpoints_steps=2)
    numbers = tf.data.Dataset.range(99)
    mask = numbers.map(
        lambda number: {"input_mask": tf.fill([3, 5], 1), "poison": tf.fill([3, 1], number == 6)}
    )
    with rejects(
        None,
        "step 7",
        "a gradient",
        "not a finite number",
        "contains the checkpoint before it",
        "ckpt-6",
    ):
        train(run, lambda skip_steps, share: mask)
    assert tf.train.latest_checkpoint(tmp_path).endswith("ckpt-6")
    assert read_rows(tmp_path / "training_log.csv")[-1]["step"] == 6


def test_weights_that_are_not_finite_after_the_last_update_are_not_saved(tmp_path):
    """The loss of the only step is finite."""
    run, model = start(tmp_path, steps=1, learning_rate=float("inf"))
    with rejects(
        None,
        "step 1",
        "weight is no longer finite",
        "has no checkpoint yet",
        "a lower `learning_rate`",
        error=loop.DivergedError,
    ):
        train(run, batches)
    assert not tf.math.is_finite(model.weight)
    assert tf.train.latest_checkpoint(tmp_path) is None


def test_a_damaged_checkpoint_is_named_and_an_earlier_one_can_be_chosen(tmp_path):
    run, _ = start(tmp_path, save_checkpoints_steps=2)
    train(run, batches)
    last = tf.train.latest_checkpoint(tmp_path)
    data = next(tmp_path.glob(f"{last.rsplit('/', 1)[1]}.data*"))
    data.write_bytes(data.read_bytes()[:9])
    with rejects(last, "its files are corrupted or missing", "checkpoint"):
        start(tmp_path, save_checkpoints_steps=2)
    (tmp_path / "checkpoint").write_text(
        'model_checkpoint_path: "ckpt-6"\nall_model_checkpoint_paths: "ckpt-6"\n'
    )
    run, _ = start(tmp_path, save_checkpoints_steps=2)
    assert run.step == 6


def test_a_run_whose_file_checkpoint_is_lost_is_resumed(tmp_path, capsys):
    settings = {"save_checkpoints_steps": 2, "keep_checkpoint_max": 3, "log_steps": 1}
    for name, end in (("undisturbed", 13), ("broken", 9)):
        run, _ = start(tmp_path / name, steps=end, **settings)
        train(run, batches)
    broken = tmp_path / "broken"
    (broken / "checkpoint").unlink()
    (broken / "ckpt-10.index").write_bytes(b"")  # As if killed while saving it.
    assert has_run(str(broken))
    capsys.readouterr()
    run, _ = start(broken, **settings)
    train(run, batches)
    assert f"{broken}: resuming at step 9 of 13" in capsys.readouterr().out
    assert (broken / "training_log.csv").read_bytes() == (
        tmp_path / "undisturbed" / "training_log.csv"
    ).read_bytes()
    assert {path.name for path in broken.glob("ckpt-*.index")} == {
        f"ckpt-{step}.index" for step in (10, 12, 13)
    }


def test_checkpoints_of_other_programs_are_not_resumed(tmp_path):
    """TensorFlow would restore equal names, and leave other variables at their initial values."""
    tf.train.Checkpoint(weight=tf.Variable(1.0)).write(str(tmp_path / "model.ckpt-9"))
    assert not has_run(str(tmp_path))
    assert start(tmp_path)[0].step == 0
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-9"\n')
    with rejects(f"{tmp_path}/model.ckpt-9", "is not from a run", "choose another directory"):
        start(tmp_path)


@pytest.mark.parametrize("lost", ["ckpt-6", "ckpt-*"])
def test_a_run_without_its_latest_checkpoint_is_not_resumed(tmp_path, lost):
    run, _ = start(tmp_path, steps=6, save_checkpoints_steps=2)
    train(run, batches)
    for path in tmp_path.glob(f"{lost}.*"):
        path.unlink()
    assert has_run(str(tmp_path))
    with rejects(f"{tmp_path}/checkpoint", "names ckpt-6", "does not exist", "delete"):
        start(tmp_path, save_checkpoints_steps=2)


@pytest.mark.parametrize(
    "state", [b"", b"\xff", b'model_checkpoint_path: "ckpt-6"\nall_model_checkpoint_paths: "ckpt']
)
def test_a_run_with_a_corrupted_file_checkpoint(tmp_path, state):
    run, _ = start(tmp_path, steps=6)
    train(run, batches)
    (tmp_path / "checkpoint").write_bytes(state)
    assert has_run(str(tmp_path))
    with pytest.raises(InputError, match=rf"^{tmp_path}/checkpoint: is corrupted; delete the file"):
        start(tmp_path)


def test_deleted_checkpoints_leave_a_finished_run_or_none(tmp_path, monkeypatch):
    """A deletion can be killed after each file."""
    run, _ = start(tmp_path, steps=4, save_checkpoints_steps=2)
    train(run, batches)
    found = []
    remove = Local.remove

    def remove_and_look(path):
        remove(path)
        found.append(
            has_run(str(tmp_path)) and os.path.basename(find_latest_checkpoint(str(tmp_path)))
        )

    monkeypatch.setattr(Local, "remove", remove_and_look)
    checkpoints.remove_checkpoints(str(tmp_path))
    assert found == ["ckpt-4", "ckpt-4", False, False, False]
    assert not list(tmp_path.glob("*ckpt*"))


@pytest.mark.parametrize(("steps", "rows"), [((4, 5), [3, 5, 10, 13]), ((13, 90), [5, 10, 12, 13])])
def test_a_profile_of_some_steps(tmp_path, capsys, steps, rows):
    """The profile ends with the run at the latest."""
    run, model = start(tmp_path, profiled_steps=steps, log_steps=5)
    train(run, batches)
    [profile] = tmp_path.glob("plugins/profile/*/*.xplane.pb")
    assert f"{tmp_path}: writing a profile; to view it" in capsys.readouterr().out
    assert float(model.weight) < -0.13
    assert [row["step"] for row in read_rows(tmp_path / "training_log.csv")] == rows
    assert b"ResourceApply" in profile.read_bytes() or b"AssignVariableOp" in profile.read_bytes()


def test_the_progress_bar_names_the_compilation(tmp_path, capsys, monkeypatch):
    # Also if TQDM_DISABLE=1 is set in the environment.
    monkeypatch.setattr(progress, "tqdm", functools.partial(progress.tqdm, disable=False))
    run, _ = start(tmp_path)
    train(run, batches)
    check_message(capsys.readouterr().err, None, "0/13", "compiling the first step")


def test_the_memory_of_a_finished_run_is_freed(tmp_path):
    run, model = start(tmp_path)
    run.free()
    assert len(run.optimizer.variables) >= 3
    for variable in (*model.variables, *run.optimizer.variables):
        assert tf.raw_ops.ReadVariableOp(resource=variable.handle, dtype=variable.dtype).shape == [
            0
        ]
