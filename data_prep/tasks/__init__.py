"""Fine-tuning data: a module for each task kind, named as in task.json, and for each format of published files.

Does not import TensorFlow.
"""

from data_prep.tasks.base import TaskData, TaskSettings
from data_prep.tasks.classifier import ClassifierData
from data_prep.tasks.multiple_choice import MultipleChoiceData
from data_prep.tasks.span_labeler import SpanLabelerData
from data_prep.tasks.token_classifier import TokenClassifierData

DATA = {
    "classifier": ClassifierData,
    "token_classifier": TokenClassifierData,
    "span_labeler": SpanLabelerData,
    "multiple_choice": MultipleChoiceData,
}

__all__ = ["DATA", "TaskData", "TaskSettings"]
