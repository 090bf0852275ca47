"""The fine-tuning job before training: batch sizes, steps, optimizer, and the settings of a resumed run."""

import dataclasses
from unittest import mock

import pytest

from bert_tf.tasks.metadata import TaskMetadata
from data_prep.tasks import classifier, multiple_choice, span_labeler, token_classifier
from run.finetuning import job
from run.finetuning.settings import FineTuningSettings, TuningSettings
from run.settings import OptimizerSettings, StepSettings, TrainingSettings
from run.tasks import ClassifierTask, MultipleChoiceTask, SpanLabelerTask, TokenClassifierTask, base
from run.training import strategies
from run.training.optimizer import make_optimizer

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
    monkeypatch.setattr(strategies, "make_strategy", lambda _: two_replicas)

    def make_strategy(sizes):
        tuning = TuningSettings(**{do: True}, predict_batch_size=sizes["predict_batch_size"])
        training = TrainingSettings(train_batch_size=sizes["train_batch_size"],
                                    eval_batch_size=sizes["eval_batch_size"])
        settings = FineTuningSettings(training=training, tuning=tuning)
        return job.make_strategy(settings, Task(settings, None))

    assert make_strategy({**ODD, used: SIZES[used]}) is two_replicas
    with pytest.raises(ValueError, match=f"`{used}`={ODD[used]}: must be a multiple"):
        make_strategy({**SIZES, used: ODD[used]})


XNLI = {"task_name": "xnli", "xnli_language": "zh", "xnli_train_language": "zh"}


@pytest.mark.parametrize(("task_class", "settings", "expected"), [
    (ClassifierTask, classifier.Settings(task_name="RTE"), {"task_name": "rte"}),
    *((ClassifierTask, classifier.Settings(task_name=name), {"task_name": "sst-2"}) for name in ("SST-2", "sst2")),
    (ClassifierTask, classifier.Settings(task_name="XNLI"), XNLI),
    (ClassifierTask, classifier.Settings(task_name="xnli", xnli_language="de"),
     {**XNLI, "xnli_language": "de", "xnli_train_language": "de"}),
    (ClassifierTask, classifier.Settings(task_name="xnli", xnli_language="de", xnli_train_language="en"),
     {**XNLI, "xnli_language": "de", "xnli_train_language": "en"}),
    (TokenClassifierTask, token_classifier.Settings(token_column=2),
     {"token_column": 2, "label_column": -1, "document_context": False}),
    (TokenClassifierTask, token_classifier.Settings(treebank_column="xpos"),
     {"token_column": 0, "label_column": -1, "treebank_column": "xpos", "document_context": False}),
    (MultipleChoiceTask, multiple_choice.Settings(data_format="race"), {"data_format": "race"}),
    (SpanLabelerTask, span_labeler.Settings(max_query_length=32),
     {"doc_stride": 128, "max_query_length": 32, "version_2_with_negative": False}),
])
def test_a_resumed_run_has_equal_settings_of_features(task_class, settings, expected):
    assert task_class(FineTuningSettings(task=settings), None).resume_settings == expected


def test_the_optimizer_of_the_settings():
    settings = OptimizerSettings(learning_rate=0.25, optimizer="lamb", weight_decay_rate=0.0, clip_norm=3.0)
    optimizer = make_optimizer(settings, StepSettings(mixed_precision="float16"), 9, 2)
    assert type(optimizer).__name__ == "Lamb"
    assert optimizer.loss_scale is not None
    assert make_optimizer(OptimizerSettings(), StepSettings(), 9, 2).loss_scale is None


def test_training_steps():
    settings = FineTuningSettings(training=TrainingSettings(train_batch_size=32))
    assert settings.num_train_steps(64) == 6
    with pytest.raises(ValueError, match=r"`train_batch_size`=32: 3\.0 epochs of 10 examples do not fill one batch"):
        settings.num_train_steps(10)
    half = dataclasses.replace(settings, tuning=TuningSettings(num_train_epochs=0.5))
    assert half.num_train_steps(64) == 1
