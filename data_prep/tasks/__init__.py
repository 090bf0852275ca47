"""Fine-tuning data: a module for each task kind, named as in task.json, and for each format of published files.

Does not import TensorFlow.
"""

from data_prep.tasks.base import TaskData, TaskSettings
from data_prep.tasks.classifier import ClassifierData
from data_prep.tasks.multiple_choice import MultipleChoiceData
from data_prep.tasks.span_labeler import SpanLabelerData
from data_prep.tasks.token_classifier import TokenClassifierData

DATA = {data.Settings.kind: data for data in (
    ClassifierData,
    TokenClassifierData,
    SpanLabelerData,
    MultipleChoiceData,
)}

__all__ = ["DATA", "TaskData", "TaskSettings"]
