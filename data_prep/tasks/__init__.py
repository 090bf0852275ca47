"""Fine-tuning data: a module for each task kind, named as in task.json, and for each format of
published files.

Does not import TensorFlow.
"""

from bert_tf.tasks.base import KindClasses
from data_prep.tasks.base import TaskData, TaskSettings

DATA = KindClasses(
    __name__,
    {
        "classifier": "ClassifierData",
        "token_classifier": "TokenClassifierData",
        "span_labeler": "SpanLabelerData",
        "multiple_choice": "MultipleChoiceData",
    },
)

__all__ = ["DATA", "TaskData", "TaskSettings"]
