"""The pre-training job: checks before it starts, and the model's implementation."""

import dataclasses

import pytest
import tensorflow as tf

from bert_tf import models
from bert_tf.cli.model_settings import ModelSettings
from run.pretraining import job
from run.pretraining.settings import PretrainingSettings
from run.settings import StepSettings, TrainingSettings
from run.training import strategies

EVEN, ODD = {"train_batch_size": 8, "eval_batch_size": 10}, {"train_batch_size": 7, "eval_batch_size": 9}


@pytest.mark.parametrize(("do", "used"), [("do_train", "train_batch_size"), ("do_eval", "eval_batch_size")])
def test_batch_sizes_that_are_not_used_need_not_divide(two_replicas, monkeypatch, do, used):
    monkeypatch.setattr(strategies, "make_strategy", lambda *_: two_replicas)

    def make_strategy(**sizes):
        return job.make_strategy(PretrainingSettings(
            training=TrainingSettings(**sizes)).replace_values({do: True}))

    assert make_strategy(**{**ODD, used: EVEN[used]}) is two_replicas
    with pytest.raises(ValueError, match=f"`{used}`={ODD[used]}: must be a multiple"):
        make_strategy(**{**EVEN, used: ODD[used]})


def test_a_checkpoint_without_heads_is_not_evaluated(tmp_path, reference_config):
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


@pytest.mark.parametrize(("device", "mixed_precision", "multiple"), [
    ("/gpu:0", "bfloat16", 8), ("/gpu:0", "float16", 8), ("/gpu:0", "float32", 1), ("/cpu:0", "bfloat16", 1)])
def test_the_vocabulary_is_filled_up_on_gpus_in_16_bits(device, mixed_precision, multiple, reference_config):
    strategy = tf.distribute.OneDeviceStrategy(device)
    settings = PretrainingSettings(step=StepSettings(mixed_precision=mixed_precision))
    assert job.choose_fast(settings, strategy, reference_config).vocabulary_multiple == multiple
