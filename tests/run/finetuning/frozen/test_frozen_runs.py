"""Taggers on frozen features and their table: killed and resumed, on two devices, in 16 bits.

The taggers have no LSTM, which takes long to trace. test_frozen_job resumes a tagger with one.
"""

import json
import signal

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models
from run import run_tagger
from run.finetuning import frozen_table as job
from run.training import strategies
from tests import linear_tagger, scripts, toy_runs
from tests.settings import resolved

FLAGS = {"max_seq_length": 12, "train_file": "train.txt", "dev_file": "dev.txt", "do_train": True,
         "train_batch_size": 12, "eval_batch_size": 1, "frozen_epochs": 20.0, "save_checkpoints_steps": 4,
         "iterations_per_loop": 1}


@pytest.fixture(scope="module")
def flat(tmp_path_factory, reference):
    """Path of a model of one layer."""
    folder = tmp_path_factory.mktemp("flat")
    toy_runs.write(folder, reference, {"flat": (None, models.BertEncoder)})
    return str(folder / "flat")


@pytest.fixture(autouse=True)
def short(monkeypatch, folder):
    linear_tagger.shorten(monkeypatch.setattr)
    monkeypatch.chdir(folder)


def run(flags):
    settings = resolved(run_tagger.COMMAND.settings.with_values(flags))
    job.run(settings)


def kill_when(flags, is_time):
    status, errors = scripts.kill_when(scripts.command("tests.linear_tagger", **flags), None, is_time)
    assert status == -signal.SIGKILL, errors[-3000:]


def tensors(folder):
    reader = tf.train.load_checkpoint(str(folder))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map() if "OBJECT_GRAPH" not in name}


def contents(folder, pattern):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.glob(pattern)}


def test_a_table_killed_in_the_second_run_of_a_row(folder, flat):
    flags = {**FLAGS, "init_checkpoint": flat, "all_features": True, "runs_per_row": 2, "num_train_epochs": 1.0,
             "do_eval": True}
    run({**flags, "output_dir": "whole_table"})
    killed = folder / "killed_table"
    kill_when({**flags, "output_dir": "killed_table"}, (killed / "last" / "run_2" / "checkpoint").exists)
    assert (killed / "fine_tuned" / "eval_results.txt").exists()
    assert not (killed / "last" / "eval_results.txt").exists()
    run({**flags, "output_dir": "killed_table"})
    for pattern in ("table.tsv", "*/eval_results.txt", "*/run_*/eval_results.txt", "vectors/*/*.npy"):
        assert contents(folder / "whole_table", pattern) == contents(killed, pattern) != {}
    assert len(contents(killed, "*/run_*/eval_results.txt")) == 4
    assert not list(killed.glob("*/run_*/ckpt-*"))


def test_two_devices_learn_the_same_as_one(folder, flat, monkeypatch, two_replicas, capsys):
    flags = {**FLAGS, "init_checkpoint": flat, "frozen_features": "last", "vectors_dir": "shared", "lstm_dropout": 0.0,
             "frozen_epochs": 4.0, "eval_batch_size": 8}
    run({**flags, "output_dir": "one_device"})
    monkeypatch.setattr(strategies, "make_strategy", lambda _: two_replicas)
    run({**flags, "output_dir": "two_devices", "do_eval": True})
    ours, expected = tensors(folder / "two_devices"), tensors(folder / "one_device")
    of_model = [name for name in expected if name.startswith("model/head") and "OPTIMIZER" not in name]
    assert len(of_model) == 2
    for name in of_model:
        np.testing.assert_allclose(ours[name], expected[name], rtol=0, atol=1e-5, err_msg=name)
    assert "the vectors of the train file are taken from there" in capsys.readouterr().out.partition("two_devices")[0]


@pytest.mark.parametrize(("precision", "mean"), [("bfloat16", 0.01), ("float16", 0.001)])
def test_each_precision_has_its_own_vectors(folder, flat, monkeypatch, precision, mean):
    flags = {**FLAGS, "init_checkpoint": flat, "frozen_features": "last", "vectors_dir": precision,
             "frozen_epochs": 1.0}
    run({**flags, "output_dir": f"in_{precision}", "mixed_precision": precision})  # float16 has a loss scale.
    assert all(np.isfinite(value).all() for value in tensors(folder / f"in_{precision}").values())
    monkeypatch.setattr("run.training.loop.TrainingRun.train", lambda *_, **__: None)  # Only the vectors matter here.
    run({**flags, "output_dir": f"beside_{precision}"})
    folders = {json.loads(path.read_text())["mixed_precision"]: path.parent / "layer_1.npy"
            for path in folder.glob(f"{precision}/*/vectors.json")}
    ours, expected = np.load(folders[precision]), np.load(folders["float32"])
    assert not np.array_equal(ours, expected)
    differences = np.abs(ours - expected)  # Single differences depend on the CPU.
    assert differences.max() < 10 * mean
    assert differences.mean() < mean
