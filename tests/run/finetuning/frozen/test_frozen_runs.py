"""Whole runs of taggers by frozen features and of their table: killed and begun again, on two devices, in 16 bits.

The taggers have no LSTM, which takes long to trace: how one that was interrupted goes on is tested beside this.
"""

import json
import re
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
STEPS = 40


@pytest.fixture(scope="module")
def flat(tmp_path_factory, reference):
    """The folder of a model of one layer."""
    folder = tmp_path_factory.mktemp("flat")
    toy_runs.write(folder, reference, {"flat": (None, models.BertEncoder)})
    return str(folder / "flat")


@pytest.fixture(autouse=True)
def short(monkeypatch, folder):
    linear_tagger.shorten(monkeypatch.setattr)
    monkeypatch.chdir(folder)


def run(flags):
    """Does in this process what the script does."""
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


def has_vectors(path):
    """Whether some rows are in an unfinished file of vectors; before them it has zeros after a header of 128 bytes."""
    return path.exists() and path.read_bytes()[128:].strip(b"\0") != b""


def test_a_tagger_killed_while_vectors_are_written_and_in_training(folder, flat, capsys):
    # Five times the sentences, for as many steps: vectors are written for long enough to be killed in it.
    (folder / "long.txt").write_text((folder / "train.txt").read_text() * 5)
    flags = {**FLAGS, "init_checkpoint": flat, "frozen_features": "last", "train_file": "long.txt",
             "frozen_epochs": FLAGS["frozen_epochs"] / 5}
    run({**flags, "output_dir": "whole_tagger"})
    killed = {**flags, "output_dir": "killed_tagger"}
    files = lambda ending: list(folder.glob(f"killed_tagger/vectors/*/layer_1.npy{ending}"))
    kill_when(killed, lambda: any(map(has_vectors, files(".partial"))))
    assert not files("")
    kill_when(killed, (folder / "killed_tagger" / "checkpoint").exists)
    assert files("")
    assert not files(".partial")
    capsys.readouterr()
    run(killed)
    output = capsys.readouterr().out
    assert "the vectors of the train file are taken from there" in output
    assert re.search(rf"killed_tagger: resuming at step \d+ of {STEPS}", output)
    whole, resumed = tensors(folder / "whole_tagger"), tensors(folder / "killed_tagger")
    assert whole.keys() == resumed.keys()
    for name, value in whole.items():
        np.testing.assert_array_equal(value, resumed[name], err_msg=name)
    vectors = contents(folder / "whole_tagger", "vectors/*/*.npy")
    assert vectors == contents(folder / "killed_tagger", "vectors/*/*.npy") != {}


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


def test_two_devices_learn_what_one_does(folder, flat, monkeypatch, two_replicas, capsys):
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
def test_vectors_of_another_precision_are_others(folder, flat, monkeypatch, precision, mean):
    flags = {**FLAGS, "init_checkpoint": flat, "frozen_features": "last", "vectors_dir": precision,
             "frozen_epochs": 1.0}
    run({**flags, "output_dir": f"in_{precision}", "mixed_precision": precision})  # float16 with a loss scale
    assert all(np.isfinite(value).all() for value in tensors(folder / f"in_{precision}").values())
    monkeypatch.setattr("run.training.loop.TrainingRun.train", lambda *_, **__: None)  # vectors are all that counts
    run({**flags, "output_dir": f"beside_{precision}"})
    told = {json.loads(path.read_text())["mixed_precision"]: path.parent / "layer_1.npy"
            for path in folder.glob(f"{precision}/*/vectors.json")}
    ours, expected = np.load(told[precision]), np.load(told["float32"])
    assert not np.array_equal(ours, expected)
    differences = np.abs(ours - expected)  # how far a single one is off depends on the CPU
    assert differences.max() < 10 * mean
    assert differences.mean() < mean
