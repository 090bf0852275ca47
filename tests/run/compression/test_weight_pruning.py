"""--weight_pruning of the fine-tuning scripts: what a run leaves, resume, and what is refused."""

import dataclasses
import json
import re
import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.checkpoints import open_checkpoint
from bert_tf.cli.model_settings import ModelSettings, TokenizerSettings
from bert_tf.errors import InputError
from data_prep.tasks import classifier
from run.finetuning import job
from run.finetuning.settings import FineTuningSettings, TuningSettings
from run.settings import OptimizerSettings, TrainingSettings
from run.techniques.settings import WeightPruningSettings
from tests import toy_runs
from tests.settings import resolved

MATRIX = re.compile(r"bert/encoder/.*/kernel")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, reference):
    folder = tmp_path_factory.mktemp("weight_pruning")
    toy_runs.write_data(folder)
    toy_runs.write(folder, reference, {"sst": toy_runs.TASKS["sst"]})
    return folder


def tune(output_dir, *, tuning=None, **pruning):
    """Trains a classifier for 12 steps in this process, in the current folder."""
    if pruning:
        pruning = {"keep_weights": 0.25, "pruning_end": 0.8, **pruning}
    settings = FineTuningSettings(
        model=ModelSettings(init_checkpoint="sst"), tokenizer=TokenizerSettings(max_seq_length=20),
        training=TrainingSettings(output_dir, train_batch_size=4, save_checkpoints_steps=4, keep_checkpoint_max=9),
        optimizer=OptimizerSettings(learning_rate=1e-2),
        tuning=TuningSettings(do_train=True, do_eval=True, num_train_epochs=4.0, **tuning or {}),
        weight_pruning=WeightPruningSettings(**pruning),
        task=classifier.Settings(task_name="sst-2", data_dir="sst-2"))
    settings = resolved(settings)
    job.run(settings)


def tensors_of(folder):
    reader = tf.train.load_checkpoint(str(folder))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def test_a_run_that_is_resumed_ends_as_an_undisturbed_one(folder, monkeypatch, capsys):
    """It goes on from step 4, in the middle of the schedule, with best/ of the end alone."""
    monkeypatch.chdir(folder)
    tune("sparse", tuning={"eval_steps": 4}, weight_pruning="magnitude")
    said = re.search(r"(\d+) of (\d+) weights of the encoder's matrices are not 0 \(25.0%\); all weights take 0.\d MB",
                     capsys.readouterr().out.replace(",", ""))
    kernels = [tensor.read() for name, tensor in open_checkpoint("sparse").tensors.items() if MATRIX.fullmatch(name)]
    assert [sum(map(np.count_nonzero, kernels)), sum(kernel.size for kernel in kernels)] == [*map(int, said.groups())]
    assert json.loads((folder / "sparse" / "best" / "best.json").read_text())["step"] == 12

    expected = tensors_of(folder / "sparse")
    (folder / "sparse" / "checkpoint").write_text('model_checkpoint_path: "ckpt-4"\n')
    shutil.rmtree(folder / "sparse" / "best")
    tune("sparse", tuning={"eval_steps": 4}, weight_pruning="magnitude")
    assert "sparse: resuming at step 4 of 12" in capsys.readouterr().out
    for name, value in tensors_of(folder / "sparse").items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name)

    with pytest.raises(InputError, match=r"`output_dir`=.*: holds a run with `weight_pruning` magnitude, not None"):
        tune("sparse")
