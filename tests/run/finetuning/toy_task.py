"""A task without data."""

from unittest import mock

from bert_tf.tasks.metadata import TaskMetadata
from data_prep.tasks import classifier
from run.finetuning.tasks import base


class Task(base.Task):
    """A task without data."""

    kind = "classifier"
    metric = "eval_accuracy"
    data_class = mock.Mock(return_value=mock.Mock(settings_class=classifier.ClassifierSettings))
    read = loss = logits_loss = score = decisions = report = predict = training_files = lambda *_: (
        None
    )
    metadata = TaskMetadata("classifier", 12, True, ("a", "b"))
