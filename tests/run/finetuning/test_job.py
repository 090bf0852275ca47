"""The fine-tuning job: what is checked, and of what a run is made, before anything is written."""

import dataclasses
from unittest import mock

import pytest

from bert_tf.model_folder import task_metadata
from bert_tf.serving import settings as served_settings
from bert_tf.tasks import KINDS, UNTRAINED_KINDS
from data_prep.tasks import classifier, multiple_choice, span_labeler, token_classifier
from run.finetuning import job
from run.finetuning.settings import FineTuningSettings, TuningSettings
from run.settings import OptimizerSettings, StepSettings, TrainingSettings
from run.tasks import TASKS, ClassifierTask, MultipleChoiceTask, SpanLabelerTask, TokenClassifierTask, base
from run.training import strategies
from run.training.optimizer import make_optimizer

SIZES = {"train_batch_size": 8, "eval_batch_size": 10, "predict_batch_size": 12}
ODD = {"train_batch_size": 7, "eval_batch_size": 9, "predict_batch_size": 11}


class Task(base.Task):
    """A task that reads nothing."""

    kind, metric = "classifier", "eval_accuracy"
    data_class = mock.Mock(return_value=mock.Mock(Settings=classifier.Settings))
    read = loss = score = decisions = report = predict = training_files = lambda *_: None
    metadata = task_metadata.TaskMetadata("classifier", 12, True, ("a", "b"))


@pytest.mark.parametrize(("do", "used"), [
    ("do_train", "train_batch_size"), ("do_eval", "eval_batch_size"), ("do_predict", "predict_batch_size")])
def test_batch_sizes_that_are_not_used_need_not_divide(two_replicas, monkeypatch, do, used):
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


@pytest.mark.parametrize(("task_class", "task_settings", "names"), [
    (ClassifierTask, classifier.Settings(task_name="rte", data_dir="."), {"task_name"}),
    (TokenClassifierTask, token_classifier.Settings(), {"token_column", "label_column", "document_context"}),
    (MultipleChoiceTask, multiple_choice.Settings(), {"data_format"}),
    (SpanLabelerTask, span_labeler.Settings(max_query_length=32),
     {"doc_stride", "max_query_length", "version_2_with_negative"}),
])
def test_a_run_is_resumed_with_what_shapes_its_features(task_class, task_settings, names):
    task = task_class(FineTuningSettings(task=task_settings), None)
    assert task.kept_settings == {name: getattr(task_settings, name) for name in names}


def test_xnli_is_resumed_in_its_languages():
    def kept(**languages):
        task_settings = classifier.Settings(task_name="XNLI", data_dir=".", **languages)
        return ClassifierTask(FineTuningSettings(task=task_settings), None).kept_settings

    assert kept() == {"task_name": "xnli", "xnli_language": "zh", "xnli_train_language": "zh"}
    assert kept(xnli_language="de") == {"task_name": "xnli", "xnli_language": "de", "xnli_train_language": "de"}
    assert kept(xnli_language="de", xnli_train_language="en")["xnli_train_language"] == "en"


def test_a_published_task_is_the_same_by_any_spelling():
    for name in ("SST-2", "sst2"):
        task = ClassifierTask(FineTuningSettings(task=classifier.Settings(task_name=name, data_dir=".")), None)
        assert task.kept_settings == {"task_name": "sst-2"}


def test_every_task_can_be_named_before_tensorflow_is_imported():
    assert set(served_settings.KINDS) == {*UNTRAINED_KINDS, *TASKS} == set(KINDS)


def test_the_optimizer_is_made_of_the_settings():
    settings = OptimizerSettings(learning_rate=0.25, optimizer="lamb", weight_decay_rate=0.0, clip_norm=3.0)
    optimizer = make_optimizer(settings, StepSettings(mixed_precision="float16"), 9, 2)
    assert type(optimizer).__name__ == "Lamb"
    assert optimizer.loss_scale is not None
    assert make_optimizer(OptimizerSettings(), StepSettings(), 9, 2).loss_scale is None


def test_a_run_that_fills_no_batch():
    settings = FineTuningSettings(training=TrainingSettings(train_batch_size=32))
    assert settings.num_train_steps(64) == 6
    with pytest.raises(ValueError, match=r"`train_batch_size`=32: 3\.0 epochs of 10 examples do not fill one batch"):
        settings.num_train_steps(10)
    half = dataclasses.replace(settings, tuning=TuningSettings(num_train_epochs=0.5))
    assert half.num_train_steps(64) == 1
