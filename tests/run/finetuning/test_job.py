"""The fine-tuning job before training: batch sizes, steps, optimizer, and the settings of a resumed run."""

import dataclasses
from unittest import mock

import pytest
import tf_keras

from bert_tf.tasks.metadata import TaskMetadata
from data_prep.tasks import classifier
from run.finetuning import job
from run.finetuning.settings import FineTuningSettings, TuningSettings
from run.pretraining.settings import PretrainingSettings
from run.settings import OptimizerSettings, StepSettings, TrainingSettings
from run.tasks import ClassifierTask, base
from run.training import strategies
from run.training.loop import open_run

SIZES = {"train_batch_size": 8, "eval_batch_size": 10, "predict_batch_size": 12}
ODD = {"train_batch_size": 7, "eval_batch_size": 9, "predict_batch_size": 11}


class Task(base.Task):
    """A task without data."""

    kind, metric = "classifier", "eval_accuracy"
    data_class = mock.Mock(return_value=mock.Mock(Settings=classifier.Settings))
    read = loss = logits_loss = score = decisions = report = predict = training_files = lambda *_: None
    metadata = TaskMetadata("classifier", 12, True, ("a", "b"))


@pytest.mark.parametrize(("do", "used"), [
    ("do_train", "train_batch_size"), ("do_eval", "eval_batch_size"), ("do_predict", "predict_batch_size")])
def test_only_used_batch_sizes_must_be_divisible(two_replicas, monkeypatch, do, used):
    monkeypatch.setattr(strategies, "make_strategy", lambda *_: two_replicas)

    def make_strategy(sizes):
        tuning = TuningSettings(predict_batch_size=sizes["predict_batch_size"])
        training = TrainingSettings(train_batch_size=sizes["train_batch_size"],
                                    eval_batch_size=sizes["eval_batch_size"])
        settings = FineTuningSettings(training=training, tuning=tuning, task=classifier.Settings()).replace_values(
            {do: True})
        return job.make_strategy(settings)

    assert make_strategy({**ODD, used: SIZES[used]}) is two_replicas
    with pytest.raises(ValueError, match=f"`{used}`={ODD[used]}: must be a multiple"):
        make_strategy({**SIZES, used: ODD[used]})


def test_a_message_about_the_batch_sizes_of_a_search_names_their_setting(two_replicas, monkeypatch):
    monkeypatch.setattr(strategies, "make_strategy", lambda *_: two_replicas)
    settings = FineTuningSettings(
        do_train=True, search=True, search_batch_sizes=(8, 7), tuning=TuningSettings(do_eval=True),
        training=TrainingSettings(output_dir="out"), task=classifier.Settings())
    with pytest.raises(ValueError, match=r"^`search_batch_sizes`=7: must be a multiple"):
        job.make_strategy(settings)


@pytest.mark.parametrize(("settings", "expected"), [
    (classifier.Settings(task_name="RTE"), {"task_name": "rte"}),
    *((classifier.Settings(task_name=name), {"task_name": "sst-2"}) for name in ("SST-2", "sst2")),
    (classifier.Settings(task_name="xnli", xnli_language="de"),
     {"task_name": "xnli", "xnli_language": "de", "xnli_train_language": "de"}),
    (classifier.Settings(task_name="xnli", xnli_language="de", xnli_train_language="en"),
     {"task_name": "xnli", "xnli_language": "de", "xnli_train_language": "en"}),
    (classifier.Settings(task_name="rte", long_texts="windows"), {"window_stride": 64, "max_windows": 8}),
])
def test_a_resumed_run_compares_what_settings_mean_for_the_data(settings, expected):
    values = ClassifierTask(FineTuningSettings(task=settings), None).data.resolved_settings.values()
    assert values.items() >= expected.items()


def test_the_optimizer_of_the_settings(one_device, tmp_path):
    rates = OptimizerSettings(learning_rate=0.25, optimizer="lamb", weight_decay_rate=0.0, clip_norm=3.0)
    settings = PretrainingSettings(optimizer=rates, step=StepSettings(mixed_precision="float16"),
                                   training=TrainingSettings(output_dir=str(tmp_path)))
    optimizer = open_run(settings, one_device, tf_keras.Sequential, None).optimizer
    config = optimizer.get_config()
    assert (type(optimizer).__name__, config["weight_decay"], config["clip_norm"]) == ("Lamb", 0.0, 3.0)
    assert optimizer.loss_scale is not None
    plain = dataclasses.replace(settings, step=StepSettings())
    assert open_run(plain, one_device, tf_keras.Sequential, None).optimizer.loss_scale is None
