"""Taggers on frozen features without an LSTM, which takes long to trace: the table is killed; two devices train.

test_frozen_job trains and resumes a tagger with an LSTM.
"""

import signal

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import models
from run.training import strategies
from tests import linear_tagger, scripts, toy_runs

FLAGS = {"init_checkpoint": "flat", "max_seq_length": 12, "train_file": "train.txt", "dev_file": "dev.txt",
         "do_train": True, "train_batch_size": 12, "save_checkpoints_steps": 4}


@pytest.fixture(autouse=True)
def current_directory(monkeypatch, folder, reference):
    linear_tagger.shorten(monkeypatch.setattr)
    monkeypatch.chdir(folder)
    if not (folder / "flat").exists():  # A model of one layer.
        toy_runs.write(folder, reference, {"flat": (None, models.BertEncoder)})


def read_files(folder, pattern):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.glob(pattern)}


def test_a_table_killed_in_the_second_run_of_a_row(folder):
    flags = {**FLAGS, "all_features": True, "runs_per_row": 2, "num_train_epochs": 1.0, "frozen_epochs": 20.0,
             "do_eval": True, "eval_batch_size": 1, "iterations_per_loop": 1}
    killed = folder / "killed_table"
    status, errors = scripts.kill_when(
        scripts.command("tests.linear_tagger", output_dir="killed_table", **flags), None,
        (killed / "last" / "run_2" / "checkpoint").exists)
    assert status == -signal.SIGKILL, errors[-3000:]
    assert (killed / "fine_tuned" / "eval_results.txt").exists()
    assert not (killed / "last" / "eval_results.txt").exists()
    for name in ("killed_table", "whole_table"):
        scripts.run_here("run.run_tagger", output_dir=name, **flags)
    for pattern in ("table.tsv", "*/eval_results.txt", "*/run_*/eval_results.txt", "vectors/*/*.npy"):
        assert read_files(folder / "whole_table", pattern) == read_files(killed, pattern) != {}
    assert len(read_files(killed, "*/run_*/eval_results.txt")) == 4
    assert not list(killed.glob("*/run_*/ckpt-*"))


def test_two_devices_learn_the_same_as_one(folder, monkeypatch, two_replicas, capsys):
    flags = {**FLAGS, "frozen_features": "last", "vectors_dir": "shared", "lstm_dropout": 0.0, "frozen_epochs": 4.0}
    scripts.run_here("run.run_tagger", output_dir="one_device", **flags)
    monkeypatch.setattr(strategies, "make_strategy", lambda _: two_replicas)
    scripts.run_here("run.run_tagger", output_dir="two_devices", do_eval=True, **flags)
    one, two = (tf.train.load_checkpoint(str(folder / name)) for name in ("one_device", "two_devices"))
    head = [name for name in one.get_variable_to_shape_map()
            if name.startswith("model/head") and "OPTIMIZER" not in name]
    assert len(head) == 2
    for name in head:
        np.testing.assert_allclose(two.get_tensor(name), one.get_tensor(name), rtol=0, atol=1e-5, err_msg=name)
    assert "reusing the features of the train file" in capsys.readouterr().out
