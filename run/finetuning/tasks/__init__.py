"""Fine-tuning tasks, one module each, by their kind in task.json."""

from bert_tf.tasks.registry import Registry

TASKS = Registry(
    __name__,
    {
        "classifier": "ClassifierTask",
        "token_classifier": "TokenClassifierTask",
        "span_labeler": "SpanLabelerTask",
        "multiple_choice": "MultipleChoiceTask",
    },
)

__all__ = ["TASKS"]
