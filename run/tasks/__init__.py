"""Fine-tuning tasks, one module each, by their kind in task.json."""

from run.tasks.classifier import ClassifierTask
from run.tasks.multiple_choice import MultipleChoiceTask
from run.tasks.span_labeler import SpanLabelerTask
from run.tasks.token_classifier import TokenClassifierTask

TASKS = {
    "classifier": ClassifierTask,
    "token_classifier": TokenClassifierTask,
    "span_labeler": SpanLabelerTask,
    "multiple_choice": MultipleChoiceTask,
}

__all__ = ["TASKS"]
