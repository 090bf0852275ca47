"""The pre-training job: checks before it starts."""

import dataclasses

import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.cli.model_settings import ModelSettings
from run.pretraining import job
from run.pretraining.settings import PretrainingSettings
from run.settings.training import TrainingSettings
from run.training import strategies


@pytest.mark.parametrize(("do", "used"), [("do_train", "train_batch_size"), ("do_eval", "eval_batch_size")])
def test_only_used_batch_sizes_must_be_divisible(two_replicas, monkeypatch, do, used):
    def make_strategy(**sizes):
        return job.make_strategy(PretrainingSettings().replace_values({do: True, **sizes}))

    monkeypatch.setattr(strategies, "make_strategy", lambda *_: two_replicas)
    odd = {"train_batch_size": 7, "eval_batch_size": 9}
    assert make_strategy(**{**odd, used: 8}) is two_replicas
    with pytest.raises(ValueError, match=f"`{used}`={odd[used]}: must be a multiple"):
        make_strategy(**{used: odd[used]})


def test_a_checkpoint_without_heads_is_trained_but_not_evaluated(tmp_path, reference_config, capsys):
    tf.train.Checkpoint(model=models.BertEncoder(reference_config)).write(str(tmp_path / "encoder"))
    settings = PretrainingSettings(
        do_eval=True,
        model=ModelSettings(init_checkpoint=str(tmp_path / "encoder"), config=reference_config),
        training=TrainingSettings(output_dir=str(tmp_path / "out")))
    strategy = tf.distribute.OneDeviceStrategy("CPU:0")
    with pytest.raises(ValueError, match="cannot be evaluated, since it lacks cls/"):
        job.start(settings, strategy)
    with pytest.raises(ValueError, match="contains no checkpoint to evaluate; train first, or set `init_checkpoint`"):
        job.start(dataclasses.replace(settings, model=ModelSettings(config=reference_config)), strategy)
    job.start(dataclasses.replace(settings, do_eval=False, do_train=True), strategy)
    assert capsys.readouterr().out == (f"note: {tmp_path}/encoder lacks heads of pre-training (predictions, "
                                       "seq_relationship), which start with random weights\n")
