"""Fine-tuning data: modules for task kinds, named as in task.json, and for formats of files.

They do not import TensorFlow.
"""

from bert_tf.tasks.registry import Registry
from data_prep.tasks.base import TaskData, TaskSettings

DATA = Registry(
    __name__,
    {
        "classifier": "ClassifierData",
        "token_classifier": "TokenClassifierData",
        "span_labeler": "SpanLabelerData",
        "multiple_choice": "MultipleChoiceData",
    },
)

__all__ = ["DATA", "TaskData", "TaskSettings"]
